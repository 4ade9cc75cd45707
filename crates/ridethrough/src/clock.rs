//! The clock by which a link lives: tokio's, counted from the making of the link.
//!
//! The machine never reads a clock; this reads it for the machine. Under tokio's paused time it
//! stands still with everything else. It also stands still while the computer sleeps, and the
//! network does not: so there is a second clock, which counts nothing but sleep.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ridethrough_core::Moment;
use tokio::time::Instant;

/// Tells moments of one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Moment {
        Moment::at(self.start.elapsed())
    }

    /// When that moment comes. One that no process lives to see is a century away.
    pub(crate) fn instant(self, moment: Moment) -> Instant {
        self.start + moment.elapsed().min(CENTURY)
    }
}

/// Tells how long the computer has slept in all.
#[derive(Clone)]
pub(crate) struct SleepClock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl SleepClock {
    pub(crate) fn new(asleep: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(asleep))
    }

    /// Begins to watch for sleep.
    pub(crate) fn watch(&self) -> SleepWatch {
        SleepWatch { clock: self.clone(), known: (self.0)() }
    }
}

impl Default for SleepClock {
    /// What the wall clock is ahead of the monotonic clock, which stops while the computer sleeps. A
    /// wall clock that is set forward looks the same, and costs a needless look at the link.
    fn default() -> Self {
        let (wall, awake) = (SystemTime::now(), std::time::Instant::now());
        Self::new(move || wall.elapsed().unwrap_or_default().saturating_sub(awake.elapsed()))
    }
}

/// Notices that the computer has slept.
pub(crate) struct SleepWatch {
    clock: SleepClock,
    known: Duration,
}

impl SleepWatch {
    /// How long the computer slept since the last look, if that is worth telling.
    pub(crate) fn slept(&mut self) -> Option<Duration> {
        let asleep = (self.clock.0)();
        let gap = asleep.saturating_sub(std::mem::replace(&mut self.known, asleep));
        (gap >= WORTH_TELLING).then_some(gap)
    }
}

/// Wall clocks are nudged by a second or two; connections survive that.
const WORTH_TELLING: Duration = Duration::from_secs(5);
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn sleep_is_told_once_and_small_steps_and_steps_back_are_not() {
        let asleep = Arc::new(AtomicU64::new(10));
        let seconds = asleep.clone();
        let clock = SleepClock::new(move || Duration::from_secs(seconds.load(Ordering::Relaxed)));
        let mut watch = clock.watch();

        let told = [12, 14, 74, 74, 0, 4, 3600].map(|now| {
            asleep.store(now, Ordering::Relaxed);
            watch.slept().map(|gap| gap.as_secs())
        });

        assert_eq!(told, [None, None, Some(60), None, None, None, Some(3596)]);
    }

    #[test]
    fn the_clock_of_this_computer_counts_no_time_in_which_it_was_awake() {
        let clock = SleepClock::default();

        std::thread::sleep(Duration::from_millis(20));

        assert!((clock.0)() < Duration::from_millis(20));
    }
}
