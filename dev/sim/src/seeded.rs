//! Worlds of whole clients that are drawn from a seed and can be lived again, under paused time.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use ridethrough_core::rng::Rng;
use tokio::runtime::Builder;

use crate::Violation;

/// A kind of world.
pub trait SeededWorld: Sized {
    /// The faults that may happen in it.
    type Faults: Display + FromStr<Err = String>;
    /// What stands before `replay` in the command.
    const NAME: &'static str;

    /// Creates the world of a seed, in whose chaos so many calls are made.
    fn of_seed(seed: u64, calls: u64) -> Self;

    /// Returns its faults, which may be changed.
    fn faults(&mut self) -> &mut Self::Faults;

    /// Runs the world, and writes a trace if one is wanted.
    fn lived(&self, is_traced: bool) -> Lived;

    /// Runs the world.
    fn live(&self) -> Lived {
        self.lived(false)
    }

    /// Runs the world, and writes a trace.
    fn traced(&self) -> Lived {
        self.lived(true)
    }
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

/// Lives through something in time that stands still until nothing else can happen.
pub(crate) fn in_paused_time<T>(life: impl Future<Output = T>) -> T {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O needs nothing of the system").block_on(life)
}

/// Draws when the calls of a chaos begin, and when all of it must have happened.
pub(crate) fn draw_starts(rng: &mut Rng, calls: u64, pace: Duration) -> (Vec<Duration>, Duration) {
    let mut at = Duration::ZERO;
    let next = |_| {
        at += rng.between(Duration::ZERO, pace);
        at
    };
    let starts: Vec<_> = (0..calls).map(next).collect();
    let last = starts.last().copied().unwrap_or_default();
    (starts, last + Duration::from_secs(5))
}
