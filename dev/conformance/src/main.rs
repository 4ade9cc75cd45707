//! `ridethrough-conformance`: our client in the official conformance suite.
//!
//! stdout is data, stderr is for people. Exit codes of `suite`: 0 everything is as it must be (or npm did
//! not answer, which the last line says), 1 something is not, 2 wrong usage; of `client`: 0 the scenario
//! was played to its end, 1 it was not.

mod authorization;
mod client;
mod harness;
mod published;
mod report;
mod scenario;
mod servers;
mod suite;
mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ridethrough_testkit::run::{ended, or_interrupted};

/// Our client in the official conformance suite.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plays one scenario; started by the suite, which names it in the environment.
    Client {
        /// Where the suite's server is.
        url: String,
    },
    /// Asks a server by the suite, directly and through a gateway, and compares check by check.
    Server {
        /// The URL of the server.
        #[arg(long, value_name = "URL")]
        direct: String,
        /// The URL of the gateway before it.
        #[arg(long, value_name = "URL")]
        through: String,
        #[arg(long, default_value = "2025-11-25")]
        revision: String,
    },
    /// Installs the suite, plays every scenario alone, and prints what became of each.
    Suite {
        /// Only scenarios whose name contains this.
        #[arg(long, value_name = "NAME", default_value = "")]
        scenario: String,
        /// Writes the tables into this file, between its two markers.
        #[arg(long, value_name = "FILE")]
        write: Option<PathBuf>,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Client { url } => client::play(&url).await.map(|()| true),
        Command::Server { direct, through, revision } => {
            servers::run(servers::ServerOrder { direct, through, revision }).await
        }
        Command::Suite { scenario, write } => {
            let run = suite::run(suite::Order { scenario, write });
            or_interrupted(run, "the suite was ended").await
        }
    };
    ended(outcome)
}
