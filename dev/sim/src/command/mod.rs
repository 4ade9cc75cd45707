//! The commands, one file each.

mod machine;
mod replay;
mod run;
mod shrink;
mod soak;
mod ticker;
mod torture;
mod which;
mod worlds;

use anyhow::Result;
use clap::Subcommand;
use ridethrough_sim::auth::AuthWorld;
use ridethrough_sim::gateway::GatewayWorld;

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(run::RunArgs),
    Replay(replay::ReplayArgs),
    Shrink(shrink::ShrinkArgs),
    Soak(soak::SoakArgs),
    /// Worlds in which clients log in: an authorization server, several processes, one store
    Auth(worlds::WorldsArgs),
    /// Worlds with a gateway between clients and servers of both eras
    Gateway(worlds::WorldsArgs),
    Machine(machine::MachineArgs),
    Story(machine::Story),
    Torture(torture::TortureArgs),
}

impl Command {
    /// Runs the command. Returns whether every promise was kept.
    pub(crate) fn play(self) -> Result<bool> {
        match self {
            Self::Run(args) => args.play(),
            Self::Replay(args) => args.play(),
            Self::Shrink(args) => args.play(),
            Self::Soak(args) => args.play(),
            Self::Auth(args) => args.play::<AuthWorld>(),
            Self::Gateway(args) => args.play::<GatewayWorld>(),
            Self::Machine(args) => args.play(),
            Self::Story(args) => args.play(),
            Self::Torture(args) => args.play(),
        }
    }
}
