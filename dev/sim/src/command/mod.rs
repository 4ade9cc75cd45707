//! The commands, one file each.

mod machine;
mod replay;
mod run;
mod shrink;
mod soak;
mod ticker;
mod torture;

use anyhow::Result;
use clap::Subcommand;
use ridethrough_sim::SeededWorld;
use ridethrough_sim::auth::AuthWorld;
use ridethrough_sim::gateway::GatewayWorld;
use ridethrough_sim::world::World;

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(run::RunArgs),
    Replay(replay::ReplayArgs),
    Shrink(shrink::ShrinkArgs),
    Soak(soak::SoakArgs),
    /// WorldsCommand in which clients log in: an authorization server, several processes, one store
    #[command(subcommand)]
    Auth(WorldsCommand),
    /// WorldsCommand with a gateway between clients and servers of both eras
    #[command(subcommand)]
    Gateway(WorldsCommand),
    Machine(machine::MachineArgs),
    Story(machine::Story),
    Torture(torture::TortureArgs),
}

impl Command {
    /// Runs the command. Returns whether every promise was kept.
    pub(crate) fn play(self) -> Result<bool> {
        match self {
            Self::Run(args) => args.play::<World>(),
            Self::Replay(args) => args.play::<World>(),
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

/// What can be done with worlds of another kind than those of `run` and `replay`.
#[derive(Subcommand)]
pub(crate) enum WorldsCommand {
    Run(run::RunArgs),
    Replay(replay::ReplayArgs),
}

impl WorldsCommand {
    fn play<W: SeededWorld>(self) -> Result<bool> {
        match self {
            Self::Run(args) => args.play::<W>(),
            Self::Replay(args) => args.play::<W>(),
        }
    }
}
