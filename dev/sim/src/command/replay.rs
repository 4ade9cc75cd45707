//! The commands `replay`: run one world again and print what happens, line by line.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Result, anyhow};
use ridethrough_sim::SeededWorld;
use ridethrough_sim::run::repeats_after;
use ridethrough_sim::world::Lived;

/// The arguments that name one world.
#[derive(clap::Args)]
pub(super) struct Which {
    /// Its seed
    pub(super) seed: u64,
    /// How many calls in it
    #[arg(long, default_value_t = 100)]
    calls: u64,
    /// Its faults, in place of those that the seed draws: `cut=30,restarts=2`, or `none`
    #[arg(long, value_name = "NAME=RATE,...")]
    faults: Option<String>,
}

impl Which {
    pub(super) fn world<W: SeededWorld>(&self) -> Result<W> {
        let mut world = W::of_seed(self.seed, self.calls);
        if let Some(text) = &self.faults {
            *world.faults() = text.parse().map_err(|it: String| anyhow!(it))?;
        }
        Ok(world)
    }
}

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
    pub(super) fn play<W: SeededWorld>(self) -> Result<bool> {
        let mut world: W = self.which.world()?;
        let lived = timed(|| world.traced());
        let out = &mut io::stdout().lock();
        if !self.quiet {
            writeln!(out, "faults: {}", world.faults())?;
            out.write_all(lived.trace.as_bytes())?;
        }
        tell(out, &lived)?;
        Ok(lived.violations.is_empty())
    }
}

/// Lives through a world, and says so if it may have another trace the next time.
fn timed(live: impl FnOnce() -> Lived) -> Lived {
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
fn tell(out: &mut impl Write, lived: &Lived) -> io::Result<()> {
    for (ending, count) in &lived.endings {
        writeln!(out, "  {count:>6}  {ending}")?;
    }
    for violation in &lived.violations {
        writeln!(out, "violation: {violation}")?;
    }
    let (calls, kept) = (lived.calls, lived.violations.len());
    writeln!(out, "{calls} calls, {} executions, violations {kept}", lived.executions)
}
