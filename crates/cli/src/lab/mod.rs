//! `ridethrough lab`: the commands around the fault lab.
//!
//! Each command is a file of its own beside this one, with its arguments and a `play` that returns an exit
//! code. This file only dispatches.

mod browser;
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
mod through_gateway;
#[cfg(test)]
mod verdicts;
mod wrong;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum LabCommand {
    /// Opens a URL as the browser of a person who consents to everything: what the lab puts into `BROWSER`.
    #[command(hide = true)]
    Browser(browser::BrowserArgs),
    /// Puts published clients and bridges through the scenarios, and ours beside them.
    Compare(compare::CompareArgs),
    /// Plays a script on our own client: the adapter by which the lab scores it.
    Drive(drive::DriveArgs),
    /// Plays a script on a stdio server in front of a remote one: the adapter by which the lab scores
    /// a bridge.
    DriveStdio(stdio::DriveStdioArgs),
    /// Lists the scenarios.
    List(list::ListArgs),
    /// Puts a client through the scenarios, ours or any other.
    Run(run::RunArgs),
    /// Keeps the servers of all scenarios running, for a client that is driven by hand.
    Serve(serve::ServeArgs),
    /// Shows one scenario: why it is there, what is asked, what must hold.
    Show(show::ShowArgs),
    /// Plays a script on a client that is wrong on purpose: the proof that a scenario can be failed.
    Wrong(wrong::WrongArgs),
}

/// Runs a command of the lab.
pub(crate) fn play(command: LabCommand) -> Result<ExitCode> {
    match command {
        LabCommand::Browser(args) => browser::play(&args),
        LabCommand::Compare(args) => compare::play(&args),
        LabCommand::Drive(args) => drive::play(&args),
        LabCommand::DriveStdio(args) => stdio::play(&args),
        LabCommand::List(args) => list::play(&args),
        LabCommand::Run(args) => run::play(&args),
        LabCommand::Serve(args) => serve::play(&args),
        LabCommand::Show(args) => show::play(&args),
        LabCommand::Wrong(args) => wrong::play(args),
    }
}
