//! The `ridethrough-lab` binary: the commands around the fault lab, and the demo.
//!
//! Each command is a file of its own beside this one, with its arguments and a `play` that returns an exit
//! code. This file only dispatches. `ridethrough lab` and `ridethrough demo` start this program.
//!
//! Exit codes: 0 done, 1 a promise was broken or the program failed, 2 wrong usage. `drive` ends with 0 once every
//! step of its script was reported, whatever became of it, and with 2 if URL or script cannot be used.

mod browser;
mod choice;
mod compare;
mod demo;
mod drive;
mod list;
#[cfg(feature = "full")]
mod login;
#[cfg(not(feature = "full"))]
#[path = "login_absent.rs"]
mod login;
#[cfg(test)]
#[cfg(feature = "full")]
mod pipes;
mod progress;
mod run;
mod scorecard;
mod serve;
mod show;
mod stdio;
#[cfg(test)]
#[cfg(feature = "full")]
mod tests;
#[cfg(feature = "full")]
mod through_gateway;
#[cfg(not(feature = "full"))]
#[path = "through_gateway_absent.rs"]
mod through_gateway;
#[cfg(test)]
#[cfg(feature = "full")]
mod verdicts;
mod writable;
mod wrong;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use ridethrough_terminal::misuse::Misuse;

/// Breaks MCP clients in exact ways, and says how they take it.
#[derive(Parser)]
#[command(name = "ridethrough-lab", version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    /// Opens a URL as the browser of a person who consents to everything: what the lab puts into `BROWSER`.
    #[command(hide = true)]
    Browser(browser::BrowserArgs),
    /// Puts published clients and bridges through the scenarios, and ours beside them.
    Compare(compare::CompareArgs),
    /// Breaks a server in five ways before your eyes, and shows what the client does about it.
    ///
    /// Needs no server and no network: the server listens on a port of this machine, inside this
    /// process. The faults come from real reports, the client is the real one with its default
    /// settings, and each act says whether the client kept its promise. Takes about half a minute.
    /// Ends with 0 if every promise held, with 1 if not. Colour is for terminals; NO_COLOR=1 says
    /// no to it.
    Demo(demo::DemoArgs),
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

/// Runs the command line.
pub fn main() -> ExitCode {
    play(Args::parse().command).unwrap_or_else(|error| match error.downcast::<Misuse>() {
        Ok(misuse) => {
            eprintln!("{misuse}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    })
}

/// Runs a command of the lab.
fn play(command: LabCommand) -> Result<ExitCode> {
    match command {
        LabCommand::Browser(args) => browser::play(&args),
        LabCommand::Compare(args) => compare::play(&args),
        LabCommand::Demo(args) => demo::play(&args),
        LabCommand::Drive(args) => drive::play(&args),
        LabCommand::DriveStdio(args) => stdio::play(&args),
        LabCommand::List(args) => list::play(&args),
        LabCommand::Run(args) => run::play(&args),
        LabCommand::Serve(args) => serve::play(&args),
        LabCommand::Show(args) => show::play(&args),
        LabCommand::Wrong(args) => wrong::play(args),
    }
}
