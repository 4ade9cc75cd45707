//! `ridethrough-interop`: our client against servers of other SDKs, and our bridge between their hosts
//! and servers.
//!
//! stdout is data, stderr is for people. Exit codes: 0 every check passed or is a documented limit of
//! its server (or a package manager did not answer, which the last line says), 1 a check failed,
//! 2 wrong usage.

mod authorization;
mod bench;
mod catalog;
mod checks;
mod chromium;
mod deeds;
mod gateway;
mod host;
mod install;
mod limits;
mod partner;
mod process;
mod proxy;
mod raw;
mod recorded;
mod report;
mod run;
mod said;
mod surface;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ridethrough_testkit::run::{ended, or_interrupted};

use catalog::{Server, ShortRun};

/// Our client against servers of other SDKs, and our bridge between their hosts and servers.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Installs authorization servers, logs in to each, and prints a table of what was seen.
    Authorization {
        /// Only checks whose name contains this.
        #[arg(long, default_value = "")]
        check: String,
        /// Writes the table into this file, between its two markers.
        #[arg(long)]
        table: Option<PathBuf>,
    },
    /// Installs Chromium, and logs in with it, once by the page of the library and once by hand.
    Chromium,
    /// Sets hosts of each revision against servers of each, with our gateway between them.
    ///
    /// Without a flag: hosts and servers of 2025-11-25 and 2026-07-28 on the TypeScript SDKs.
    Gateway {
        /// All revisions and transports, and the Python and Rust SDKs too.
        #[arg(long)]
        all: bool,
        /// Only features whose name contains this.
        #[arg(long, default_value = "")]
        feature: String,
        /// The program `ridethrough` [default: the one beside this program]
        #[arg(long, value_name = "FILE")]
        ridethrough: Option<PathBuf>,
        /// Writes the table into this file, between its two markers.
        #[arg(long)]
        table: Option<PathBuf>,
    },
    /// Puts our gateway before servers of other SDKs, and has the official suite compare it with them.
    GatewaySuite {
        /// This server only; may be given more than once.
        #[arg(long, value_parser = gateway::suite_server)]
        server: Vec<&'static str>,
        /// The program `ridethrough` [default: the one beside this program]
        #[arg(long, value_name = "FILE")]
        ridethrough: Option<PathBuf>,
        /// The program `ridethrough-conformance` [default: the one beside this program]
        #[arg(long, value_name = "FILE")]
        conformance: Option<PathBuf>,
    },
    /// Calls a tool as a program does that a person has started.
    #[command(hide = true)]
    LogIn { url: String, folder: PathBuf, by: chromium::LoginBy },
    /// Serves in the shapes of the Go SDK, as one of the servers that a run starts.
    #[command(hide = true)]
    RecordedGo,
    /// Installs servers, asks each the same questions, and prints a table of the answers.
    ///
    /// Without a flag: one server for each SDK (python, rmcp, typescript), and the second one of
    /// TypeScript for the stateless era, which the first does not speak.
    Run {
        /// Every server.
        #[arg(long, conflicts_with = "server")]
        all: bool,
        /// This server only; may be given more than once.
        #[arg(long, value_parser = server)]
        server: Vec<&'static Server>,
        /// Only checks whose name contains this.
        #[arg(long, default_value = "")]
        check: String,
        /// The program `ridethrough`, whose bridge hosts start [default: the one beside this program]
        #[arg(long, value_name = "FILE")]
        bridge: Option<PathBuf>,
        /// Writes the table into this file, between its two markers.
        #[arg(long)]
        table: Option<PathBuf>,
        /// Writes how each server says that a session is gone into this file, between its markers.
        #[arg(long)]
        sessions: Option<PathBuf>,
        /// Writes the results as JSON into this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    ended(match Args::parse().command {
        Command::LogIn { url, folder, by } => chromium::log_in(&url, folder, by).await,
        Command::RecordedGo => recorded::serve().await.map(|()| true),
        command => or_interrupted(perform(command), "all servers were ended").await,
    })
}

async fn perform(command: Command) -> anyhow::Result<bool> {
    match command {
        Command::Authorization { check, table } => {
            authorization::run(authorization::AuthorizationOrder { check, table }).await
        }
        Command::Chromium => chromium::run().await,
        Command::Gateway { all, feature, ridethrough, table } => {
            gateway::run(gateway::GatewayOrder { all, feature, ridethrough, table }).await
        }
        Command::GatewaySuite { server, ridethrough, conformance } => {
            gateway::run_suite(&server, ridethrough, conformance).await
        }
        Command::Run { all, server, check, bridge, table, sessions, json } => {
            let is_short = !all && server.is_empty();
            let servers = servers(all, server);
            let order = run::RunOrder { servers, is_short, check, bridge, table, sessions, json };
            run::run(order).await
        }
        Command::LogIn { .. } | Command::RecordedGo => unreachable!("a server of a run"),
    }
}

/// Returns the servers that the arguments mean.
fn servers(all: bool, named: Vec<&'static Server>) -> Vec<&'static Server> {
    let servers = catalog::SERVERS.iter();
    match (all, named.is_empty()) {
        (true, _) => servers.collect(),
        (false, true) => servers.filter(|server| server.short_run != ShortRun::None).collect(),
        (false, false) => named,
    }
}

fn server(name: &str) -> Result<&'static Server, String> {
    catalog::SERVERS.iter().find(|server| server.name == name).ok_or_else(|| {
        let names: Vec<_> = catalog::SERVERS.iter().map(|server| server.name).collect();
        format!("must be one of {}", names.join(", "))
    })
}
