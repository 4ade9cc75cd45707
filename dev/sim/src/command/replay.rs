//! The command `replay`: runs one world again and prints what happens, line by line.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Result;
use ridethrough_sim::run::repeats_after;
use ridethrough_sim::world::Lived;

use super::which::Which;

/// Live through one world again, and tell what happens in it
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    which: Which,
    /// Say only what came of it
    #[arg(long)]
    quiet: bool,
}

impl ReplayArgs {
    pub(super) fn play(self) -> Result<bool> {
        let world = self.which.world()?;
        let lived = timed(|| world.traced());
        let out = &mut io::stdout().lock();
        if !self.quiet {
            writeln!(out, "faults: {}", world.faults)?;
            out.write_all(lived.trace.as_bytes())?;
        }
        tell(out, &lived)?;
        Ok(lived.violations.is_empty())
    }
}

/// Lives through a world, and says so if it may have another trace the next time.
pub(super) fn timed(live: impl FnOnce() -> Lived) -> Lived {
    let began = Instant::now();
    let lived = live();
    if !repeats_after(began.elapsed()) {
        eprintln!(
            "note: this took {:.1} s of real time, and h2 forgets streams after one: over HTTP/2 the trace may \
             be another the next time\nhint: replay it when the machine has less to do",
            began.elapsed().as_secs_f64()
        );
    }
    lived
}

/// Prints what came of a world.
pub(super) fn tell(out: &mut impl Write, lived: &Lived) -> io::Result<()> {
    for (ending, count) in &lived.endings {
        writeln!(out, "  {count:>6}  {ending}")?;
    }
    for violation in &lived.violations {
        writeln!(out, "violation: {violation}")?;
    }
    let (calls, kept) = (lived.calls, lived.violations.len());
    writeln!(out, "{calls} calls, {} executions, violations {kept}", lived.executions)
}
