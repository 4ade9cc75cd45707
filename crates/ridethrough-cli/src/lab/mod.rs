//! `ridethrough lab`: the commands around the fault lab.
//!
//! Each command is a file of its own beside this one, with its arguments and a `play` that ends in
//! an exit code. Here is only which of them was meant, and how wrong usage is told.

mod drive;
mod misuse;
#[cfg(test)]
mod pipes;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use misuse::Misuse;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Plays a script on our own client: the adapter by which the lab scores it.
    Drive(drive::Args),
}

/// Carries a command out.
pub(crate) fn play(command: Command) -> Result<ExitCode> {
    let outcome = match command {
        Command::Drive(args) => drive::play(&args),
    };
    outcome.or_else(|error| {
        let misuse = error.downcast::<Misuse>()?;
        eprintln!("{misuse}");
        Ok(ExitCode::from(2))
    })
}
