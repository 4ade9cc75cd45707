//! `ridethrough status`: the bridges and gateways that run on this machine, and their state.
//!
//! Each is asked through its own socket; see `socket.rs`. One that does not answer in time is listed as
//! silent.

mod ask;
mod server;
mod socket;
mod table;
mod watch;

use std::process::ExitCode;

use anyhow::Result;

use crate::{out, until};

pub(crate) use server::StatusServer;

/// The arguments of `ridethrough status`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct StatusArgs {
    /// Print a JSON array for machines
    #[arg(long)]
    json: bool,
    /// Look again every second, until Ctrl-C; with `--json`, an array on each line
    #[arg(long)]
    watch: bool,
}

pub(crate) fn play(args: &StatusArgs) -> Result<ExitCode> {
    let is_colourful = out::is_colourful(&std::io::stdout());
    let show = |seen: &[ask::StatusSeen]| {
        if args.json { ask::json(seen) } else { table::of(seen, is_colourful) }
    };
    let looked = until::stopped(async {
        if args.watch {
            watch::until_nobody_reads(async || show(&ask::all().await)).await
        } else {
            let seen = ask::all().await;
            out::print(|out| writeln!(out, "{}", show(&seen)))
        }
    })?;
    // Ctrl-C is how a watch ends, so it is not reported.
    looked.unwrap_or_else(|stopped| Ok(stopped.code()))
}

const AFTER: &str = "\
A bridge or gateway listens on a socket that only its user can reach, below
`$XDG_RUNTIME_DIR/ridethrough` or the user's cache. No header, no token and no query of a URL is told
there. Below a gateway there is a line for each of its servers; one that nobody uses is idle.

Exit codes: 0 also if nothing runs, 130 or 143 ended by a signal.";
