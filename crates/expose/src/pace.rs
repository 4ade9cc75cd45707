//! How soon a child may be started again: children that die young make the next one wait.
//!
//! ```text
//!   died young ──▶ 250 ms ──again──▶ 500 ms ──▶ ... ──▶ 30 s        one that did well ──▶ no wait
//! ```

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::news::News;

/// The outcomes of starts: children that die young make the next one wait.
/// Clones share them.
#[derive(Clone)]
pub(crate) struct Starts {
    pace: Arc<Mutex<Pace>>,
    tell: Arc<dyn Fn(News) + Send + Sync>,
}

impl Starts {
    pub(crate) fn new(tell: Arc<dyn Fn(News) + Send + Sync>) -> Self {
        Self { pace: Arc::default(), tell }
    }

    /// Records that a child could not be started, and reports it.
    pub(crate) fn failed(&self, what: &str) {
        (self.tell)(News::NotStarted { what: what.to_owned() });
        let pause = self.died(Duration::ZERO);
        self.tell_pause(pause);
    }

    /// Returns how long the next start has to wait.
    pub(crate) fn wait(&self) -> Duration {
        self.with_pace(|pace, now| pace.wait(now))
    }

    /// Records a child that ended by itself, this long after its start. Returns how long the next start has
    /// to wait.
    pub(crate) fn died(&self, lived: Duration) -> Duration {
        self.with_pace(|pace, now| {
            pace.died(now, lived);
            pace.wait(now)
        })
    }

    /// Records a child that worked until it was asked to end.
    pub(crate) fn did_well(&self) {
        self.with_pace(|pace, _| pace.did_well());
    }

    /// Reports a pause that clients notice.
    pub(crate) fn tell_pause(&self, pause: Duration) {
        if pause > PATIENCE {
            (self.tell)(News::Paused { pause });
        }
    }

    fn with_pace<T>(&self, change: impl FnOnce(&mut Pace, Instant) -> T) -> T {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        change(&mut self.pace.lock().unwrap_or_else(PoisonError::into_inner), Instant::now())
    }
}

/// The pause before the next start.
#[derive(Debug, Default)]
struct Pace {
    /// How many children died young in a row.
    strikes: u32,
    not_before: Option<Instant>,
}

impl Pace {
    /// Returns how long a start has to wait.
    fn wait(&self, now: Instant) -> Duration {
        self.not_before.map_or(Duration::ZERO, |then| then.saturating_duration_since(now))
    }

    /// Records a child that ended by itself, this long after its start, or that could not be started.
    fn died(&mut self, now: Instant, lived: Duration) {
        if lived >= LONG {
            return self.did_well();
        }
        if !self.wait(now).is_zero() {
            // The child was started before the pause began, as were all children that run during it: when
            // several crash together, that counts once.
            return;
        }
        let wait = FIRST.saturating_mul(1 << self.strikes.min(16)).min(LONGEST);
        self.strikes += 1;
        self.not_before = Some(now + wait);
    }

    /// Records a child that worked until it was asked to end.
    fn did_well(&mut self) {
        *self = Self::default();
    }
}

/// The longest pause that `initialize` waits out: not every client knows how to come again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// The life of a child after which its end is not blamed on its start.
const LONG: Duration = Duration::from_secs(10);
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_30_s_and_one_that_lived_long_ends_them() {
        let mut now = Instant::now();
        let mut pace = Pace::default();
        let mut waits = vec![pace.wait(now)];

        for _ in 0..20 {
            pace.died(now, LONG - Duration::from_millis(1));
            waits.push(pace.wait(now));
            now += pace.wait(now);
        }
        let millis: Vec<_> = waits.iter().map(Duration::as_millis).collect();
        assert_eq!(millis[..9], [0, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000]);
        assert!(millis[8..].iter().all(|wait| *wait == 30000), "{millis:?}");

        pace.died(now, LONG);
        assert_eq!(pace.wait(now), Duration::ZERO);
        pace.died(now, Duration::ZERO);
        assert_eq!(pace.wait(now), FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_over_when_its_time_is() {
        let now = Instant::now();
        let mut pace = Pace::default();

        pace.died(now, Duration::ZERO);

        assert_eq!(pace.wait(now + Duration::from_millis(100)), Duration::from_millis(150));
        assert_eq!(pace.wait(now + FIRST), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn many_that_die_together_are_one_crash() {
        let now = Instant::now();
        let mut pace = Pace::default();

        for _ in 0..16 {
            pace.died(now, Duration::ZERO);
        }
        pace.died(now + FIRST / 2, Duration::ZERO);

        assert_eq!(pace.wait(now), FIRST);
        pace.died(now + FIRST, Duration::ZERO);
        assert_eq!(pace.wait(now + FIRST), 2 * FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_child_that_was_of_use_forgives_those_before() {
        let now = Instant::now();
        let mut pace = Pace::default();
        pace.died(now, Duration::ZERO);
        pace.died(now, Duration::ZERO);

        pace.did_well();

        assert_eq!(pace.wait(now), Duration::ZERO);
    }
}
