//! Time as the machine knows it: how long its link has existed.
//!
//! The machine never reads a clock. Whoever drives it says what time it is, so a test can write
//! any moment down and a simulator can live through a day in a second. Arithmetic saturates:
//! a server may send any number it likes as a delay.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// A point in time, counted from the moment the link was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// The moment the link was made.
    pub const START: Self = Self(Duration::ZERO);
    /// A moment no driver ever reaches.
    pub const NEVER: Self = Self(Duration::MAX);

    /// The moment that lies `elapsed` after the start.
    pub const fn at(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// The moment `millis` milliseconds after the start.
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// The moment `secs` seconds after the start.
    pub const fn secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// How long after the start this moment lies.
    pub const fn elapsed(self) -> Duration {
        self.0
    }

    /// The time from `earlier` until this moment; zero if `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(wait))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_any_length_never_overflows() {
        let end = Moment::secs(5) + Duration::MAX;

        assert_eq!(end, Moment::NEVER);
    }

    #[test]
    fn the_time_since_a_later_moment_is_zero() {
        assert_eq!(Moment::secs(1).since(Moment::secs(2)), Duration::ZERO);
    }
}
