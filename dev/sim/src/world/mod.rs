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
mod shape;
mod soak;
mod streams;
pub(crate) mod told;
pub(crate) mod trace;
pub(crate) mod vault;

use std::collections::BTreeMap;

use ridethrough_core::rng::Rng;

pub use faults::{Fault, Faults, HAPPENINGS};
pub use soak::{Hour, Soak, Soaked};

use crate::Violation;
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

/// The results of a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lived {
    /// Calls made, those after the healing included.
    pub calls: u64,
    /// How many calls ended in which way.
    pub endings: BTreeMap<String, u64>,
    /// Faults that calls met.
    pub faults: u64,
    /// How often servers ran a tool.
    pub executions: u64,
    /// How many runs a server denied.
    pub lies: u64,
    /// Connections that servers accepted.
    pub connections: u64,
    /// Virtual time, in milliseconds.
    pub millis: u64,
    /// What else was counted, by name.
    pub counts: BTreeMap<&'static str, u64>,
    /// Broken promises.
    pub violations: Vec<Violation>,
    /// The trace, if it was asked for: what happened, line by line.
    pub trace: String,
}

impl World {
    /// Creates the world of a seed.
    pub fn of_seed(seed: u64, calls: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xfa17_5eed);
        let faults = match rng.below(8) {
            // Patience alone is enough in such a world, so every safe call must succeed.
            0 => mild(&mut rng),
            1 => calm(&mut rng),
            _ => Faults::draw(&mut rng),
        };
        Self { seed, faults, calls }
    }

    /// Whether its clients speak HTTP/2.
    pub fn is_over_http2(&self) -> bool {
        Shape::draw(&mut Rng::new(self.seed)).protocol.is_http2()
    }

    /// Runs the world.
    pub fn live(&self) -> Lived {
        self.live_with(Trace::default())
    }

    /// Runs the world, and writes a trace.
    pub fn traced(&self) -> Lived {
        self.live_with(Trace::kept())
    }

    fn live_with(&self, trace: Trace) -> Lived {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing of the system");
        runtime.block_on(async { Life::begin(self, trace).await.live().await })
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
