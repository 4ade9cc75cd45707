//! The commands, one file each.

mod auth;
mod gateway;
mod machine;
mod replay;
mod run;
mod shrink;
mod soak;
mod ticker;
mod torture;
mod which;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(run::RunArgs),
    Replay(replay::ReplayArgs),
    Shrink(shrink::ShrinkArgs),
    Soak(soak::SoakArgs),
    Auth(auth::AuthArgs),
    Gateway(gateway::GatewayArgs),
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
            Self::Auth(args) => args.play(),
            Self::Gateway(args) => args.play(),
            Self::Machine(args) => args.play(),
            Self::Story(args) => args.play(),
            Self::Torture(args) => args.play(),
        }
    }
}
