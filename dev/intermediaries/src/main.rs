//! `ridethrough-intermediaries`: reverse proxies of Debian between our client and a server that fails after
//! its tool ran.
//!
//! The backend and the judge share no code with the client. stdout is data, stderr is for people. Exit codes:
//! 0 every promise was kept (a proxy that could not be installed is named), 1 one was broken, 2 wrong usage.

mod backend;
mod bridge;
mod case;
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
use ridethrough_testkit::place::{ScratchFolder, beside, there};
use ridethrough_testkit::run::{ended, or_interrupted};
use serde_json::Value;

use case::{Caller, Era};
use outage::OutageOrder;
use proxies::{Setup, Variant};
use run::RunOrder;
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
    let run = perform(Args::parse().command);
    ended(or_interrupted(run, "all proxies were ended").await)
}

async fn perform(command: Command) -> Result<bool> {
    let scratch = ScratchFolder::new("intermediaries")?;
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
            let ways = Way::ALL.iter().copied().step_by(step);
            let ways = ways.filter(|it| it.name().contains(&way));
            let callers =
                caller.map_or_else(|| vec![Caller::Library, Caller::Bridge], |it| vec![it]);
            let order = RunOrder {
                setups: setups(&proxy, sample),
                ways: ways.collect(),
                callers,
                program: ridethrough.map_or_else(|| beside("ridethrough"), |it| there(&it))?,
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
        it.variant == Variant::Defaults && ["haproxy", "nginx", "varnish"].contains(&&*it.kind.name)
    };
    let is_named =
        |it: &Setup| named.is_empty() || named.iter().any(|name| it.label().contains(name));
    proxies::all().filter(|it| is_named(it) && (!is_sample || is_sampled(it))).collect()
}

/// A short run plays one way of so many.
const SAMPLED: usize = 3;
