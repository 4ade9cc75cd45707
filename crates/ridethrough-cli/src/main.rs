//! The `ridethrough` binary: modes and exit codes.
//!
//! stdout is data, stderr is for people. Exit codes: 0 done, 1 a promise was broken or the
//! program failed, 2 wrong usage. `lab drive` ends with 0 once every step of its script was
//! reported, whatever became of it, and with 2 if URL or script cannot be used.

mod demo;
mod lab;
mod out;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// MCP connections that ride through faults.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plays a fault story step by step, then a hundred thousand calls in random worlds.
    ///
    /// Needs no server and no network: the recovery machine is the real one, the server and the
    /// time around it are simulated.
    Demo,
    /// Breaks MCP clients in exact ways, and says how they take it.
    #[command(subcommand)]
    Lab(lab::Command),
}

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Demo => demo::play(),
        Command::Lab(command) => lab::play(command),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
