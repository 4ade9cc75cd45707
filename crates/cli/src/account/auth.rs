//! `ridethrough auth`: manages the logins that are kept on this machine.

mod export;
mod status;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// The subcommands of `ridethrough auth`.
#[derive(Subcommand)]
pub(crate) enum AuthCommand {
    /// Takes a login to another machine: out of this one, into that one.
    Move(export::MoveArgs),
    /// Shows the logins that are kept here, and their state; no server is asked.
    Status(status::AuthStatusArgs),
}

pub(crate) fn play(command: &AuthCommand) -> Result<ExitCode> {
    match command {
        AuthCommand::Move(args) => export::play(args),
        AuthCommand::Status(args) => status::play(args),
    }
}
