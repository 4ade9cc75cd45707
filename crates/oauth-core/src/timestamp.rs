//! Wall-clock time, counted from 1970: passed in, and never read.
//!
//! Expiries outlive the process that learnt them, so they are absolute. Arithmetic saturates: a server may
//! send any number.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time, counted in milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Returns the moment this many milliseconds after 1970.
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the moment this many seconds after 1970.
    pub const fn from_unix_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Returns the milliseconds since 1970.
    pub const fn unix_millis(self) -> u64 {
        self.0
    }

    /// Returns the whole seconds since 1970.
    pub const fn unix_secs(self) -> u64 {
        self.0 / 1000
    }

    /// Returns the time from `earlier` until this moment; zero if `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Returns the moment that is this much earlier; not before 1970.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_of_any_length_never_overflows() {
        let now = Timestamp::from_unix_secs(5);

        assert_eq!((now + Duration::MAX).unix_millis(), u64::MAX);
        assert_eq!(now.minus(Duration::MAX).unix_millis(), 0);
        assert_eq!(Timestamp::from_unix_secs(u64::MAX).unix_millis(), u64::MAX);
        assert_eq!(now.since(now + Duration::from_secs(1)), Duration::ZERO);
    }
}
