//! The clock of a link: tokio's, counted from the making of the link.
//!
//! The machine never reads a clock; this module reads it for the machine. Under tokio's paused time it stands
//! still with everything else. It also stands still while the computer sleeps, and the network does not: so
//! there is a second clock, which counts only sleep.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ridethrough_core::Moment;
use tokio::time::Instant;

/// Tells the moments of one link.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Begins at this moment.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Returns the moment that it is.
    pub fn now(self) -> Moment {
        Moment::at(self.start.elapsed())
    }

    /// Returns the instant of a moment, or one a century away if the moment is later.
    pub fn instant(self, moment: Moment) -> Instant {
        self.start + moment.elapsed().min(CENTURY)
    }
}

/// Tells how long the computer has slept in all.
#[derive(Clone)]
pub struct SleepClock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl SleepClock {
    /// Counts by this function, which returns how long the computer has slept in all.
    pub fn new(asleep: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(asleep))
    }

    /// Begins to watch for sleep.
    pub fn watch(&self) -> SleepWatch {
        SleepWatch { clock: self.clone(), known: (self.0)() }
    }
}

impl Default for SleepClock {
    /// Returns the difference between the wall clock and the monotonic clock, which stops while the computer
    /// sleeps. A wall clock that is set forward looks like sleep, and costs a needless ping.
    fn default() -> Self {
        let awake = std::time::Instant::now();
        Self::new(move || ahead(SystemTime::now(), awake.elapsed()))
    }
}

/// Returns how far the wall clock is ahead of this time awake. It is counted from 1970, so that a wall clock
/// that was set back is still ahead.
fn ahead(wall: SystemTime, awake: Duration) -> Duration {
    wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().saturating_sub(awake)
}

/// Detects that the computer has slept.
pub struct SleepWatch {
    clock: SleepClock,
    known: Duration,
}

impl SleepWatch {
    /// Returns how long the computer slept since the last call, if that is worth reporting.
    pub fn slept(&mut self) -> Option<Duration> {
        let asleep = (self.clock.0)();
        let gap = asleep.saturating_sub(std::mem::replace(&mut self.known, asleep));
        (gap >= WORTH_TELLING).then_some(gap)
    }
}

/// The shortest sleep that is reported: wall clocks are corrected by a second or two, and connections survive
/// that.
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
    fn sleep_is_noticed_after_the_wall_clock_was_set_back() {
        let hours = |count| Duration::from_secs(3600 * count);
        let begun = SystemTime::now();
        let past = Arc::new(AtomicU64::new(0));
        let set = past.clone();
        // Almost no time passes here: only the wall clock moves.
        let clock = SleepClock::new(move || {
            let wall = begun - hours(2) + hours(set.load(Ordering::Relaxed));
            ahead(wall, Duration::ZERO)
        });
        past.store(2, Ordering::Relaxed);
        let mut watch = clock.watch();
        past.store(0, Ordering::Relaxed);
        assert_eq!(watch.slept(), None);

        past.store(1, Ordering::Relaxed);

        assert_eq!(watch.slept(), Some(hours(1)));
    }

    #[test]
    fn the_clock_of_this_computer_counts_no_time_in_which_it_was_awake() {
        let clock = SleepClock::default();
        let before = (clock.0)();

        std::thread::sleep(Duration::from_millis(20));

        assert!((clock.0)().saturating_sub(before) < Duration::from_millis(20));
    }
}
