//! Worlds with a gateway between clients and servers of both eras.
//!
//! ```text
//!   callers ──▶ Client ──▶ net ──▶ Server + Gateway ──▶ Client ──▶ net ──▶ servers (ridethrough-lab)
//!      │                            ▲ killed, stopped, reloaded                     │
//!      └──────────────▶ oracle ◀────┴───────────────────────────────────────────────┘
//! ```
//!
//! The servers, their faults and the oracle are those of [`world`](crate::world); what is added here are
//! routing, questions in the middle of a call, and the life of the gateway's process. A world has four ages:
//! chaos; healing; rest, in which nothing is asked and nothing may happen; and the end.

mod call;
mod caller;
mod faults;
mod life;
mod plan;
mod process;
mod record;
mod rounds;
mod schedule;
mod shape;
mod site;
mod told;

pub use faults::{GatewayFault, GatewayFaults};

use ridethrough_core::rng::Rng;

use crate::rates::Rates;
use crate::seeded::{SeededWorld, in_paused_time};
use crate::world::certain::CALM;
use crate::world::trace::Trace;
use crate::world::{Fault, Faults, Lived};
use life::GatewayLife;

/// One world, by what it is drawn from.
#[derive(Clone, Debug)]
pub struct GatewayWorld {
    /// The seed; everything else is drawn from it.
    pub seed: u64,
    /// The faults that may happen in it.
    pub faults: GatewayFaults,
    /// How many calls are made in its chaos.
    pub calls: u64,
}

impl SeededWorld for GatewayWorld {
    type Faults = GatewayFaults;
    const NAME: &'static str = "gateway ";

    fn of_seed(seed: u64, calls: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x6a7e_5eed);
        let kind = rng.below(8);
        let mut faults = GatewayFaults::draw(&mut rng);
        for fault in faults::LEFT_OUT {
            faults.servers = faults.servers.without(*fault);
        }
        match kind {
            // Nothing happens that a caller could notice.
            0 => {
                faults.gateway = Rates::none();
                faults.servers = only_calm(faults.servers);
            }
            // The servers are well, and only the gateway and people are not.
            1..3 => faults.servers = only_calm(faults.servers),
            // The operator edits the config, and nothing else happens.
            4 => {
                faults.servers = only_calm(faults.servers);
                let reloads = faults.gateway[GatewayFault::Reloads].max(2);
                faults.gateway = Rates::none().with(GatewayFault::Reloads, reloads);
            }
            // The gateway lives for as long as the world.
            3 => faults.gateway = Rates::none(),
            _ => {}
        }
        Self { seed, faults, calls }
    }

    fn faults(&mut self) -> &mut GatewayFaults {
        &mut self.faults
    }

    fn lived(&self, is_traced: bool) -> Lived {
        in_paused_time(async { GatewayLife::begin(self, Trace::new(is_traced)).live().await })
    }
}

fn only_calm(faults: Faults) -> Faults {
    let others = Fault::ALL.iter().filter(|fault| !CALM.contains(fault));
    others.fold(faults, |faults, fault| faults.without(*fault))
}
