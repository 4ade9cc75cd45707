//! Time as the machine knows it: how long its link has existed.
//!
//! The machine never reads a clock. Its driver says what time it is, so a test can write any moment down and
//! a simulator can live through a day in a second. Arithmetic saturates, because a server may send any number
//! as a delay.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// A point in time, counted from the moment the link was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// The moment the link was made.
    pub const START: Self = Self(Duration::ZERO);
    /// A moment that no driver ever reaches.
    pub const NEVER: Self = Self(Duration::MAX);

    /// Returns the moment that is `elapsed` after the start.
    pub const fn at(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// Returns the moment `millis` milliseconds after the start.
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// Returns the moment `secs` seconds after the start.
    pub const fn secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// Returns the time from the start to this moment.
    pub const fn elapsed(self) -> Duration {
        self.0
    }

    /// Returns the time from `earlier` until this moment; zero if `earlier` is not earlier.
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
