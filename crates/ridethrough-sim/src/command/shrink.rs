//! `shrink`: the simplest world that breaks the same promise.

use std::io::{self, Write};

use anyhow::Result;
use ridethrough_sim::regression::Regression;
use ridethrough_sim::shrink::{Shrunk, shrink};

use super::replay::world;
use super::ticker::Ticker;

/// Take faults and calls away from a broken world, for as long as it stays broken
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its seed
    seed: u64,
    /// How many calls in it
    #[arg(long, default_value_t = 100)]
    calls: u64,
    /// Its faults, in place of those that the seed draws
    #[arg(long, value_name = "NAME=RATE,...")]
    faults: Option<String>,
}

impl Args {
    pub(super) fn play(self) -> Result<bool> {
        let world = world(self.seed, self.calls, self.faults.as_deref())?;
        let ticker = Ticker::start();
        let shrunk = shrink(&world, |it| {
            let faults = it.faults.present().count();
            ticker.tell(|| format!("{faults} faults and {} calls left", it.calls));
        });
        ticker.end();
        let out = &mut io::stdout().lock();
        let Some(Shrunk { world, promise }) = shrunk else {
            writeln!(out, "seed {} breaks no promise", self.seed)?;
            return Ok(true);
        };
        let (seed, calls, faults) = (world.seed, world.calls, &world.faults);
        writeln!(out, "broken: {promise}")?;
        writeln!(out, "again: ridethrough-sim replay {seed} --calls {calls} --faults {faults}")?;
        let line = Regression { world: world.clone(), what: promise.to_owned() };
        writeln!(out, "for crates/ridethrough-sim/regressions.txt, once it is mended:\n{line}")?;
        Ok(false)
    }
}
