//! The command `shrink`: finds the simplest world that breaks the promise that a given world breaks.

use std::io::{self, Write};

use anyhow::Result;
use ridethrough_sim::regression::Regression;
use ridethrough_sim::shrink::{Shrunk, shrink};
use ridethrough_sim::world::World;

use super::replay::Which;
use super::ticker::Ticker;

/// Take faults and calls away from a broken world, for as long as it stays broken
#[derive(clap::Args)]
pub(crate) struct ShrinkArgs {
    #[command(flatten)]
    which: Which,
}

impl ShrinkArgs {
    pub(super) fn play(self) -> Result<bool> {
        let world: World = self.which.world()?;
        let ticker = Ticker::start();
        let shrunk = shrink(&world, |it| {
            let faults = it.faults.present().count();
            ticker.say(|| format!("{faults} faults and {} calls left", it.calls));
        });
        ticker.end();
        let out = &mut io::stdout().lock();
        let Some(Shrunk { world, promise }) = shrunk else {
            writeln!(out, "seed {} breaks no promise", self.which.seed)?;
            return Ok(true);
        };
        let (seed, calls, faults) = (world.seed, world.calls, &world.faults);
        writeln!(out, "broken: {promise}")?;
        writeln!(out, "again: ridethrough-sim replay {seed} --calls {calls} --faults {faults}")?;
        let line = Regression { world: world.clone(), what: promise.to_owned() };
        writeln!(out, "for dev/sim/regressions.txt, once it is mended:\n{line}")?;
        Ok(false)
    }
}
