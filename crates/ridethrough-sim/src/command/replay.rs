//! `replay`: one world again, line by line.

use std::io::{self, Write};

use anyhow::{Result, anyhow};
use ridethrough_sim::world::{Faults, World};

/// Live through one world again, and tell what happens in it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its seed
    seed: u64,
    /// How many calls in it
    #[arg(long, default_value_t = 100)]
    calls: u64,
    /// Its faults, in place of those that the seed draws: `cut=30,restarts=2`, or `none`
    #[arg(long, value_name = "NAME=RATE,...")]
    faults: Option<String>,
    /// Say only what came of it
    #[arg(long)]
    quiet: bool,
}

impl Args {
    pub(super) fn play(self) -> Result<bool> {
        let world = world(self.seed, self.calls, self.faults.as_deref())?;
        let lived = world.traced();
        let out = &mut io::stdout().lock();
        if !self.quiet {
            writeln!(out, "faults: {}", world.faults)?;
            out.write_all(lived.trace.as_bytes())?;
        }
        for (ending, count) in &lived.endings {
            writeln!(out, "  {count:>6}  {ending}")?;
        }
        for violation in &lived.violations {
            writeln!(out, "violation: {violation}")?;
        }
        let (calls, kept) = (lived.calls, lived.violations.len());
        writeln!(out, "{calls} calls, {} executions, violations {kept}", lived.executions)?;
        Ok(lived.violations.is_empty())
    }
}

/// The world that the words of a command mean.
pub(super) fn world(seed: u64, calls: u64, faults: Option<&str>) -> Result<World> {
    let drawn = World::of_seed(seed, calls);
    Ok(match faults {
        Some(text) => World { faults: text.parse::<Faults>().map_err(|it| anyhow!(it))?, ..drawn },
        None => drawn,
    })
}
