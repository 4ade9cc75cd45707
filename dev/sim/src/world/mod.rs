//! A world of whole clients: driver, pool, hyper and bridge as they are shipped, under paused time.
//!
//! ```text
//!   people ──▶ Client (ridethrough) ──▶ net ──▶ Server (ridethrough-lab) ──▶ host
//!     │      or Bridge before it                      ▲                        │
//!     │                                            schedule                    │
//!     └───────────────────────────▶ oracle ◀───────────────────────────────────┘
//! ```
//!
//! A world has three ages: chaos, in which its faults happen; healing, in which none happen and every call
//! must end; and the end, in which all clients leave and nothing may be left behind.

mod answers;
mod call;
pub(crate) mod certain;
pub(crate) mod computer;
mod dialect;
mod faults;
mod history;
pub(crate) mod host;
pub(crate) mod life;
pub(crate) mod lines;
pub(crate) mod oracle;
pub(crate) mod order;
pub(crate) mod people;
pub(crate) mod schedule;
mod serving;
mod shape;
mod soak;
mod streams;
pub(crate) mod told;
pub(crate) mod trace;
pub(crate) mod vault;

use ridethrough_core::rng::Rng;

pub use crate::seeded::Lived;
pub(crate) use faults::fitting;
pub use faults::{Fault, Faults};
pub use soak::{Hour, Soak, Soaked};

use crate::seeded::{SeededWorld, in_paused_time};
use life::Life;
use shape::Shape;
use trace::Trace;

/// One world, by what it is drawn from.
#[derive(Clone, Debug)]
pub struct World {
    /// The seed; everything else is drawn from it.
    pub seed: u64,
    /// The faults that may happen in it.
    pub faults: Faults,
    /// How many calls are made in its chaos.
    pub calls: u64,
}

impl World {
    /// Whether its clients speak HTTP/2.
    pub fn is_over_http2(&self) -> bool {
        Shape::draw(&mut Rng::new(self.seed)).protocol.is_http2()
    }
}

impl SeededWorld for World {
    type Faults = Faults;
    const NAME: &'static str = "";

    fn of_seed(seed: u64, calls: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xfa17_5eed);
        let faults = match rng.below(8) {
            // Patience alone is enough in such a world, so every safe call must succeed.
            0 => mild(&mut rng),
            1 => calm(&mut rng),
            _ => Faults::draw(&mut rng),
        };
        Self { seed, faults, calls }
    }

    fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    fn lived(&self, is_traced: bool) -> Lived {
        in_paused_time(async { Life::begin(self, Trace::new(is_traced)).await.live().await })
    }
}

/// Faults that cost no call.
fn mild(rng: &mut Rng) -> Faults {
    let none = Faults::none();
    none.with(Fault::Outages, 1 + rng.below(2))
        .with(Fault::Restarts, rng.below(3))
        .with(Fault::Streams, rng.below(1000))
        .with(Fault::Delay, rng.below(500))
        .with(Fault::Apart, rng.below(500))
}

/// Faults that no caller notices.
fn calm(rng: &mut Rng) -> Faults {
    let drawn = Faults::draw(rng);
    let taken_away = Fault::ALL.iter().filter(|fault| !certain::CALM.contains(fault));
    taken_away.fold(drawn, |faults, fault| faults.without(*fault))
}

/// The largest message that the clients of a world accept.
pub(crate) const MESSAGE_LIMIT: usize = 256 << 10;
