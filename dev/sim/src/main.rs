//! `ridethrough-sim`: runs simulations under faults and reports broken promises.

mod command;

use std::process::ExitCode;

use clap::Parser;

use command::Command;

/// Lives through worlds of faults, drawn from seeds, and reports broken promises.
///
/// The real client, its pool, hyper and the bridge run against a server of the lab, over in-memory
/// pipes and under paused time; an oracle outside checks every promise. Exit codes: 0 all promises kept, 1
/// some broken, 2 wrong usage.
#[derive(Parser)]
#[command(name = "ridethrough-sim", version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Args::parse().command.play() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
