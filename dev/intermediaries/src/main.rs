//! `ridethrough-intermediaries`: reverse proxies of Debian between our client and a server that fails after
//! its tool ran.
//!
//! The backend and the judge share no code with the client. stdout is data, stderr is for people. Exit codes:
//! 0 every promise was kept (a proxy that could not be installed is named), 1 one was broken, 2 wrong usage.

mod backend;
mod bridge;
mod case;
mod counts;
mod install;
mod library;
mod outage;
mod proxies;
mod relay;
mod report;
mod run;
mod verdict;
mod way;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use case::{Caller, Era};
use outage::OutageOrder;
use proxies::{Setup, Variant};
use run::{RunOrder, ScratchFolder};
use way::Way;

/// Reverse proxies of Debian between our client and a server that fails after its tool ran.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes 100 writes a second over an outage of 5 s, through each proxy.
    Outage {
        /// Only proxies whose label contains this; may be given more than once.
        #[arg(long)]
        proxy: Vec<String>,
        /// This era only.
        #[arg(long, default_value = "sessions")]
        era: Era,
    },
    /// Installs the proxies that are missing, as `run` does before it begins.
    Prepare,
    /// Fails in each way behind each proxy, and prints what became of the calls.
    Run {
        /// A third of the ways, behind Varnish, nginx and HAProxy with their default settings.
        #[arg(long)]
        sample: bool,
        /// Only proxies whose label contains this; may be given more than once.
        #[arg(long)]
        proxy: Vec<String>,
        /// Only ways whose name contains this.
        #[arg(long, default_value = "")]
        way: String,
        /// This caller only.
        #[arg(long)]
        caller: Option<Caller>,
        /// The program `ridethrough`, whose bridge is asked [default: the one beside this program]
        #[arg(long, value_name = "FILE")]
        ridethrough: Option<PathBuf>,
        /// Writes every call as JSON into this file.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let scratch = ScratchFolder::new();
    let outcome = or_interrupted(perform(Args::parse().command, &scratch)).await;
    drop(scratch);
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn perform(command: Command, scratch: &ScratchFolder) -> Result<bool> {
    let folder = scratch.path().to_owned();
    match command {
        Command::Outage { proxy, era } => {
            let setups = setups(&proxy, false);
            let report = outage::run(&OutageOrder { setups, era, folder }).await?;
            println!("{report}");
            Ok(report.is_good())
        }
        Command::Prepare => {
            let (_, skipped) = install::prepare(proxies::all().collect()).await?;
            skipped.iter().for_each(|it| println!("{it}"));
            Ok(true)
        }
        Command::Run { sample, proxy, way, caller, ridethrough, json } => {
            let step = if sample { SAMPLED } else { 1 };
            let ways = Way::ALL.into_iter().step_by(step).filter(|it| it.name().contains(&way));
            let callers =
                caller.map_or_else(|| vec![Caller::Library, Caller::Bridge], |it| vec![it]);
            let order = RunOrder {
                setups: setups(&proxy, sample),
                ways: ways.collect(),
                callers,
                program: ridethrough.map_or_else(beside, Ok)?,
                folder,
            };
            let report = run::run(&order).await?;
            if let Some(file) = json {
                let all = Value::Array(report.played.iter().map(|it| it.json()).collect());
                std::fs::write(&file, format!("{all:#}\n")).context(file.display().to_string())?;
            }
            println!("{report}");
            Ok(report.is_good())
        }
    }
}

/// Returns the setups that the arguments mean.
fn setups(named: &[String], is_sample: bool) -> Vec<&'static Setup> {
    let is_sampled = |it: &Setup| {
        it.variant == Variant::Defaults && ["haproxy", "nginx", "varnish"].contains(&it.proxy)
    };
    let is_named =
        |it: &Setup| named.is_empty() || named.iter().any(|name| it.label().contains(name));
    proxies::all().filter(|it| is_named(it) && (!is_sample || is_sampled(it))).collect()
}

/// Returns the program `ridethrough` that was built beside this one.
fn beside() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("ridethrough");
    path.canonicalize().with_context(|| {
        format!("there is no `{}`; build it with `cargo build -p ridethrough-cli`", path.display())
    })
}

/// Runs `run` until Ctrl-C or SIGTERM. Dropping a run ends the proxies that it started.
async fn or_interrupted(run: impl Future<Output = Result<bool>>) -> Result<bool> {
    let mut asked_to_end = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = run => outcome,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted; all proxies were ended")),
        _ = asked_to_end.recv() => Err(anyhow::anyhow!("asked to end; all proxies were ended")),
    }
}

/// A short run plays one way of so many.
const SAMPLED: usize = 3;
