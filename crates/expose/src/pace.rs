//! How soon a child may be started again: children that die young make the next one wait.
//!
//! ```text
//!   died young ──▶ 250 ms ──again──▶ 500 ms ──▶ ... ──▶ 30 s        one that did well ──▶ no wait
//! ```

use std::time::Duration;

use tokio::time::Instant;

/// The pause before the next start.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// How many children died young in a row.
    strikes: u32,
    not_before: Option<Instant>,
}

impl Pace {
    /// Returns how long a start has to wait.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.not_before.map_or(Duration::ZERO, |then| then.saturating_duration_since(now))
    }

    /// Records a child that ended by itself, this long after its start, or that could not be started.
    pub(crate) fn died(&mut self, now: Instant, lived: Duration) {
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
    pub(crate) fn did_well(&mut self) {
        *self = Self::default();
    }
}

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
