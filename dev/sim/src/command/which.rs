//! The arguments that name one world.

use anyhow::{Result, anyhow};
use ridethrough_sim::world::{Faults, World};

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
    pub(super) fn world(&self) -> Result<World> {
        let drawn = World::of_seed(self.seed, self.calls);
        Ok(match &self.faults {
            Some(text) => {
                World { faults: text.parse::<Faults>().map_err(|it| anyhow!(it))?, ..drawn }
            }
            None => drawn,
        })
    }
}
