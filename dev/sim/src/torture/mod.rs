//! Torture: every scripted exchange, with its connection cut at every byte.
//!
//! ```text
//!   exchange ──unharmed──▶ how many bytes passed on each connection, each way
//!      │                          │
//!      └──again, and again ◀──────┘  cut after byte 0, 1, 2 .. of that connection, that way:
//!               │                    reset, reset at once, FIN, stall
//!               ▼
//!           verdict: every call ended once and in time, nothing unsafe ran twice, no error lied,
//!                    answers are byte for byte the server's, and nothing is left over
//! ```
//!
//! Each run has a runtime of its own with time paused, so that a stall of minutes costs nothing and a
//! point can be played again by its name.

mod exchange;
mod exchanges;
mod life;
mod point;
mod stage;
mod verdict;

use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ridethrough_lab::Protocol;

pub use exchange::Exchange;
pub use exchanges::all;
pub use point::{BREAKS, PROTOCOLS, Point, WAYS};

use life::RunRecord;

use crate::net::Harm;

/// Which points are played.
#[derive(Clone, Debug)]
pub struct TorturePlan {
    /// Plays every N-th point; a prime meets every kind in turn.
    pub every: usize,
    /// Plays this script only.
    pub exchange: Option<String>,
    /// Plays over this protocol only.
    pub protocol: Option<Protocol>,
    /// How many points are played at once.
    pub threads: usize,
}

impl Default for TorturePlan {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self { every: 1, exchange: None, protocol: None, threads }
    }
}

/// The results of a torture run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TortureSummary {
    /// How many scripts were played.
    pub exchanges: usize,
    /// How many points were played.
    pub points: usize,
    /// The promises that were broken.
    pub violations: Vec<TortureViolation>,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TortureViolation {
    /// What is wrong.
    pub what: String,
    /// The command that shows it again.
    pub again: String,
}

impl fmt::Display for TortureSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exchanges, points, violations } = self;
        write!(f, "{exchanges} exchanges, {points} points, {} violations", violations.len())
    }
}

/// Plays every point of a plan. `progress` gets how many are done, and of how many.
pub fn run(plan: &TorturePlan, progress: impl Fn(usize, usize) + Sync) -> TortureSummary {
    let scenes = scenes(plan);
    let mut violations = Vec::new();
    let mut places = Vec::new();
    for (place, scene) in scenes.iter().enumerate() {
        violations.extend(scene.wrong_when_unharmed());
        places.extend(scene.points().map(|point| (place, point)));
    }
    let places: Vec<_> = places.into_iter().step_by(plan.every.max(1)).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found = Mutex::new(Vec::new());
    let work = || {
        loop {
            let some = &places[take(&next, places.len())];
            if some.is_empty() {
                return;
            }
            for (scene, point) in some {
                let wrong = scenes[*scene].torture(point);
                found.lock().unwrap_or_else(PoisonError::into_inner).extend(wrong);
            }
            progress(done.fetch_add(some.len(), Ordering::Relaxed) + some.len(), places.len());
        }
    };
    thread::scope(|scope| {
        for _ in 1..plan.threads {
            scope.spawn(work);
        }
        work();
    });
    violations.extend(found.into_inner().unwrap_or_else(PoisonError::into_inner));
    let mut exchanges: Vec<_> = scenes.iter().map(|scene| scene.exchange.name).collect();
    exchanges.dedup();
    TortureSummary { exchanges: exchanges.len(), points: places.len(), violations }
}

/// Plays one point.
pub fn run_point(point: &Point) -> TortureSummary {
    let exchange = all().find(|it| it.name == point.exchange);
    let scenes: Vec<_> = exchange.map(|it| Scene::new(it, point.protocol)).into_iter().collect();
    let violations = scenes.iter().flat_map(|scene| scene.torture(point)).collect();
    TortureSummary { exchanges: scenes.len(), points: scenes.len(), violations }
}

/// Takes the next few points.
fn take(next: &AtomicUsize, all: usize) -> std::ops::Range<usize> {
    let begin = next.fetch_add(CHUNK, Ordering::Relaxed).min(all);
    begin..(begin + CHUNK).min(all)
}

fn scenes(plan: &TorturePlan) -> Vec<Scene> {
    let wanted = all().filter(|it| plan.exchange.as_deref().is_none_or(|name| name == it.name));
    let each = wanted.flat_map(|exchange| {
        let protocols = PROTOCOLS.into_iter().map(|(_, protocol)| protocol);
        let protocols = protocols.filter(|it| plan.protocol.is_none_or(|wanted| wanted == *it));
        protocols.map(move |protocol| Scene::new(exchange, protocol))
    });
    each.collect()
}

/// A script over one protocol, with its record when nothing breaks.
struct Scene {
    exchange: Exchange,
    protocol: Protocol,
    unharmed: RunRecord,
}

impl Scene {
    fn new(exchange: Exchange, protocol: Protocol) -> Self {
        Self { exchange, protocol, unharmed: life::live(&exchange, protocol, None) }
    }

    fn wrong_when_unharmed(&self) -> Vec<TortureViolation> {
        let protocol = point::protocol_name(self.protocol);
        let name = self.exchange.name;
        let again = format!("ridethrough-sim torture --exchange {name} --protocol {protocol}");
        let wrong = verdict::judge_unharmed(&self.unharmed).into_iter();
        wrong
            .map(|what| TortureViolation {
                what: format!("unharmed: {what}"),
                again: again.clone(),
            })
            .collect()
    }

    /// Returns every point: before the first byte, after each, and after the last.
    fn points(&self) -> impl Iterator<Item = Point> {
        let (exchange, protocol) = (self.exchange.name, self.protocol);
        let lines = (0..).zip(&self.unharmed.scripted);
        lines.flat_map(move |(dial, passed)| {
            WAYS.into_iter().flat_map(move |(_, way)| {
                (0..=passed.bytes(way)).flat_map(move |after| {
                    BREAKS.into_iter().map(move |(_, breaks)| {
                        let harm = Harm { way, after, breaks };
                        Point { exchange, protocol, dial, harm }
                    })
                })
            })
        })
    }

    fn torture(&self, point: &Point) -> Vec<TortureViolation> {
        let life = life::live(&self.exchange, self.protocol, Some((point.dial, point.harm)));
        let wrong = verdict::judge(&self.exchange, point, &life, &self.unharmed).into_iter();
        wrong.map(|what| TortureViolation { what, again: point.to_string() }).collect()
    }
}

/// How many points a thread takes at once.
const CHUNK: usize = 16;
