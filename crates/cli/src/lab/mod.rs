//! `ridethrough lab`: the commands around the fault lab.
//!
//! Each command is a file of its own beside this one, with its arguments and a `play` that ends in
//! an exit code. Here is only which of them was meant.

mod choice;
mod compare;
mod drive;
mod list;
#[cfg(test)]
mod pipes;
mod progress;
mod run;
mod serve;
mod show;
mod stdio;
#[cfg(test)]
mod tests;
mod wrong;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Puts published clients and bridges through the scenarios, and ours beside them.
    Compare(compare::Args),
    /// Plays a script on our own client: the adapter by which the lab scores it.
    Drive(drive::Args),
    /// Plays a script on a stdio server in front of a remote one: the adapter by which the lab scores
    /// a bridge.
    DriveStdio(stdio::Args),
    /// Lists the scenarios.
    List(list::Args),
    /// Puts a client through the scenarios, ours or any other.
    Run(run::Args),
    /// Keeps the servers of all scenarios running, for a client that is driven by hand.
    Serve(serve::Args),
    /// Shows one scenario: why it is there, what is asked, what must hold.
    Show(show::Args),
    /// Plays a script on a client that is wrong on purpose: the proof that a scenario can be failed.
    Wrong(wrong::Args),
}

/// Carries a command out.
pub(crate) fn play(command: Command) -> Result<ExitCode> {
    match command {
        Command::Compare(args) => compare::play(&args),
        Command::Drive(args) => drive::play(&args),
        Command::DriveStdio(args) => stdio::play(&args),
        Command::List(args) => list::play(&args),
        Command::Run(args) => run::play(&args),
        Command::Serve(args) => serve::play(&args),
        Command::Show(args) => show::play(&args),
        Command::Wrong(args) => wrong::play(args),
    }
}
