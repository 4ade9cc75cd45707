//! Runs many worlds on all processors, and adds up the results.
//!
//! Each world runs on one thread and does not depend on the others; results are added up in the order of
//! their seeds.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::world::{Lived, World};
use crate::{SeededWorld, Violation};

/// Returns `all` where `RIDETHROUGH_TESTS` is `all`, which `./test --all` sets, and `sample` elsewhere.
pub fn sampled(sample: u64, all: u64) -> u64 {
    if std::env::var("RIDETHROUGH_TESTS").is_ok_and(|it| it == "all") { all } else { sample }
}

/// How much to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first seed.
    pub first_seed: u64,
    /// How many worlds.
    pub seeds: u64,
    /// How many calls are made in the chaos of each.
    pub calls: u64,
    /// Whether to stop at the first broken world.
    pub is_over_when_broken: bool,
}

/// The results of all worlds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of worlds.
    pub seeds: u64,
    /// Calls made.
    pub calls: u64,
    /// Faults that calls met on servers.
    pub faults: u64,
    /// How often servers ran a tool.
    pub executions: u64,
    /// How many runs a server denied.
    pub lies: u64,
    /// Connections made.
    pub connections: u64,
    /// Virtual time, in milliseconds.
    pub millis: u64,
    /// What else was counted, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<&'static str, u64>,
    /// How many calls ended in which way.
    pub endings: BTreeMap<String, u64>,
    /// Broken promises.
    #[serde(serialize_with = "as_text")]
    pub violations: Vec<Violation>,
}

impl Summary {
    /// Returns how often each promise was broken, and in which world first.
    pub fn broken_promises(&self) -> BTreeMap<&'static str, (u64, u64)> {
        let mut broken = BTreeMap::new();
        for violation in &self.violations {
            broken.entry(violation.promise).or_insert((0, violation.seed)).0 += 1;
        }
        broken
    }

    /// Calls that were answered.
    pub fn answered(&self) -> u64 {
        self.endings.get("answered").copied().unwrap_or_default()
    }

    fn add(&mut self, lived: Lived) {
        self.seeds += 1;
        self.calls += lived.calls;
        self.faults += lived.faults;
        self.executions += lived.executions;
        self.lies += lived.lies;
        self.connections += lived.connections;
        self.millis += lived.millis;
        for (what, count) in lived.counts {
            *self.counts.entry(what).or_default() += count;
        }
        for (ending, count) in lived.endings {
            *self.endings.entry(ending).or_default() += count;
        }
        self.violations.extend(lived.violations);
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "simulated: {} calls in {} worlds, {} faults on servers, {} answered, {} executions, \
             {} lies, {} connections, {} h of virtual time",
            self.calls,
            self.seeds,
            self.faults,
            self.answered(),
            self.executions,
            self.lies,
            self.connections,
            self.millis / 3_600_000
        )?;
        for (what, count) in &self.counts {
            write!(f, ", {count} {what}")?;
        }
        write!(f, ", violations {}", self.violations.len())
    }
}

/// Runs all worlds of the plan; `progress` gets the numbers of worlds and calls so far.
pub fn run(plan: Plan, progress: impl Fn(u64, u64) + Sync) -> Summary {
    run_each(plan, |seed| World::of_seed(seed, plan.calls).live(), progress)
}

/// Runs the worlds of the plan as `live` does, by their seeds.
pub fn run_each(
    plan: Plan,
    live: impl Fn(u64) -> Lived + Sync,
    progress: impl Fn(u64, u64) + Sync,
) -> Summary {
    let (next, calls) = (AtomicU64::new(0), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    let done: Mutex<BTreeMap<u64, Lived>> = Mutex::default();
    let summary = Mutex::new((0, Summary::default()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= plan.seeds || is_over.load(Ordering::Relaxed) {
                return;
            }
            let lived = live(plan.first_seed + number);
            let calls = calls.fetch_add(lived.calls, Ordering::Relaxed) + lived.calls;
            // A poisoned lock is a panic of the other thread, which ends the run anyway.
            let mut done = done.lock().expect("nobody panics with it");
            done.insert(number, lived);
            let (added, summary) = &mut *summary.lock().expect("nobody panics with it");
            while let Some(lived) = done.remove(added) {
                summary.add(lived);
                *added += 1;
                if plan.is_over_when_broken && !summary.violations.is_empty() {
                    is_over.store(true, Ordering::Relaxed);
                    break;
                }
            }
            progress(*added, calls);
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    summary.into_inner().expect("nobody panics with it").1
}

/// Lives through a world twice. If both lives differ and one took a second of real time, both are lived again, up
/// to five times.
///
/// hyper's HTTP/2 ignores late frames on a stream that it has reset for a second of the real clock, and refuses
/// them with a frame of its own later. Where a connection is cut after an exact byte, one frame makes a
/// difference. Nothing else in a world depends on the real clock.
pub fn live_twice(live: impl Fn() -> Lived) -> (Lived, Lived) {
    let timed = || {
        let began = Instant::now();
        let lived = live();
        (lived, repeats_after(began.elapsed()))
    };
    let mut left = 5;
    loop {
        let ((once, is_quick), (again, is_quick_again)) = (timed(), timed());
        left -= 1;
        if once == again || (is_quick && is_quick_again) || left == 0 {
            return (once, again);
        }
    }
}

/// Whether a world that took this long in real time repeats byte by byte.
pub fn repeats_after(took: Duration) -> bool {
    took < Duration::from_secs(1)
}

fn as_text<S: serde::Serializer>(violations: &[Violation], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(violations.iter().map(ToString::to_string))
}
