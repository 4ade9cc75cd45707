//! How long to wait before the next try.
//!
//! There are two shapes. A [`Window`] spreads retries: it doubles with each failure in a row and uses full
//! jitter, because many clients lose one server at once. `gap` paces the one connect loop of a link: quick
//! while an outage is young, slow when it is old.

use std::time::Duration;

use crate::rng::Rng;

/// A doubling window, from `first` to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The window after the first failure.
    pub first: Duration,
    /// The widest window.
    pub most: Duration,
}

impl Window {
    /// Returns the width of the window after `failures` earlier failures in a row.
    pub fn width(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.most)
    }

    /// Returns a wait anywhere in the window.
    pub fn full_jitter(self, failures: u32, rng: &mut Rng) -> Duration {
        rng.between(Duration::ZERO, self.width(failures))
    }

    /// Returns a wait in the upper half of the window, for loops that must not come in bursts.
    pub fn half_jitter(self, failures: u32, rng: &mut Rng) -> Duration {
        let width = self.width(failures);
        rng.between(width / 2, width)
    }
}

/// Returns the pause of a connect or handshake loop that has gone on for `age`.
///
/// Gaps stay under 250 ms for the first 5 s, since most outages are restarts, and then double to 5 s; `late`
/// counts the tries after those first seconds.
pub(crate) fn gap(age: Duration, late: u32, rng: &mut Rng) -> Duration {
    if age < YOUNG {
        return rng.between(SHORTEST, SHORT);
    }
    Window { first: SHORT, most: LONGEST }.half_jitter(late.saturating_add(1), rng)
}

/// How long an outage counts as young.
pub(crate) const YOUNG: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_millis(50);
const SHORT: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window =
        Window { first: Duration::from_millis(100), most: Duration::from_secs(10) };

    #[test]
    fn the_window_doubles_from_100_ms_to_10_s() {
        let widths: Vec<_> = (0..9).map(|n| WINDOW.width(n).as_millis()).collect();

        assert_eq!(widths, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(WINDOW.width(u32::MAX), Duration::from_secs(10));
    }

    #[test]
    fn eight_waits_in_a_row_stay_under_23_s() {
        let most: Duration = (0..8).map(|n| WINDOW.width(n)).sum();

        assert!(most < Duration::from_secs(23));
    }

    #[test]
    fn gaps_stay_under_250_ms_for_5_s_and_then_double_to_5_s() {
        let mut rng = Rng::new(3);

        for age in [0, 1000, 4999] {
            assert!(gap(Duration::from_millis(age), 0, &mut rng) <= SHORT);
        }
        for late in 0..20 {
            let wait = gap(YOUNG, late, &mut rng);
            assert!(wait >= SHORT && wait <= LONGEST, "{late}: {wait:?}");
        }
        assert!(gap(YOUNG, 19, &mut rng) >= LONGEST / 2);
    }
}
