//! `ridethrough status`: the bridges and gateways that run on this machine, and their state.
//!
//! Each is asked through its own socket; see `socket.rs`. One that does not answer in time is listed as
//! silent.

mod ask;
mod server;
mod socket;
mod table;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{MissedTickBehavior, interval};

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
    let is_colourful = out::is_colourful(&io::stdout());
    let show = |seen: &[ask::StatusSeen]| {
        if args.json { ask::json(seen) } else { table::of(seen, is_colourful) }
    };
    let looked = until::stopped(async {
        if args.watch {
            until_nobody_reads(async || show(&ask::all().await)).await
        } else {
            let seen = ask::all().await;
            out::print(|out| writeln!(out, "{}", show(&seen)))
        }
    })?;
    // Ctrl-C is how a watch ends, so it is not reported.
    looked.unwrap_or_else(|stopped| Ok(stopped.code()))
}

/// Shows the text of `look` again and again, for as long as stdout has a reader: on a terminal in place of
/// the text before, elsewhere below it.
async fn until_nobody_reads(look: impl AsyncFn() -> String) -> Result<ExitCode> {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let before = if io::stdout().is_terminal() { CLEAR } else { "" };
    loop {
        ticks.tick().await;
        let shown = look().await;
        match write(&format!("{before}{shown}\n")) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(ExitCode::SUCCESS);
            }
            written => written?,
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

const AFTER: &str = "\
A bridge or gateway listens on a socket that only its user can reach, below
`$XDG_RUNTIME_DIR/ridethrough` or the user's cache. No header, no token and no query of a URL is told
there. Below a gateway there is a line for each of its servers; one that nobody uses is idle.

Exit codes: 0 also if nothing runs, 130 or 143 ended by a signal.";
const EVERY: Duration = Duration::from_secs(1);
const CLEAR: &str = "\x1b[H\x1b[2J";
