//! `ridethrough-races`: many processes that share one login, on tokens that live for two seconds.
//!
//! The authorization server is this program, which knows what each process sent, and kills some of them at the
//! worst moments. stdout is data, stderr is for people. Exit codes: 0 every promise was kept (or this system
//! cannot run the race, which the last line says), 1 one was broken, 2 wrong usage.

mod authorization;
mod process;
mod race;
mod server;
mod verdict;
mod worker;

use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use ridethrough_testkit::run::{ended, or_interrupted};

use race::{Race, Size};
use verdict::Way;

/// Many processes that share one login, on tokens that live for two seconds.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Races, and says whether every promise was kept.
    Run {
        /// How many processes share the login.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
        processes: u16,
        /// How many calls are under way at a time, of all processes.
        #[arg(long, default_value_t = 200)]
        calls: u16,
        /// How long each race takes.
        #[arg(long, default_value_t = 300)]
        seconds: u64,
        /// This way only; may be given more than once.
        #[arg(long)]
        way: Vec<Way>,
    },
    /// One of the processes.
    #[command(hide = true)]
    Worker(worker::Task),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Run { processes, calls, seconds, way } => {
            let size = Size {
                processes: processes.into(),
                calls: calls.max(processes).into(),
                time: Duration::from_secs(seconds),
                token_life: Duration::from_secs(2),
            };
            let ways = if way.is_empty() { Way::value_variants().to_vec() } else { way };
            or_interrupted(run(&ways, size), "all processes were ended").await
        }
        Command::Worker(task) => worker::work(task).await.map(|()| true),
    };
    ended(outcome)
}

async fn run(ways: &[Way], size: Size) -> anyhow::Result<bool> {
    if TcpListener::bind((Ipv4Addr::new(127, 1, 0, 1), 0)).is_err() {
        println!("races: skipped: this system has one loopback address only");
        return Ok(true);
    }
    let mut is_good = true;
    for way in ways {
        let facts = Race::start(*way, size).await?.run().await?;
        println!("{facts}");
        for broken in facts.broken() {
            is_good = false;
            println!("  broken: {broken}");
        }
    }
    println!("races: {}", if is_good { "every promise was kept" } else { "a promise was broken" });
    Ok(is_good)
}

/// The name of the client, and its id.
const NAME: &str = "races";
