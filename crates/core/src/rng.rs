//! Jitter from a seed.
//!
//! This is the only randomness in the machine. Each link has one generator, seeded when the link is made, so
//! that a seed repeats a run exactly. It spreads waits; it must never guard a secret.

use std::time::Duration;

/// A small deterministic generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator whose numbers depend on `seed` alone.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, or zero if `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of a 128-bit product is unbiased enough for jitter and free of division.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a wait between `least` and `most`, both included, in whole microseconds.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(u64::MAX - 1);
        least + Duration::from_micros(self.below(span.saturating_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut rng = Rng::new(seed);
            [rng.next_u64(), rng.next_u64(), rng.next_u64()]
        };

        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn a_wait_lies_between_its_bounds_and_reaches_both_halves() {
        let (least, most) = (Duration::from_millis(10), Duration::from_millis(20));
        let mut rng = Rng::new(1);

        let waits: Vec<_> = (0..1000).map(|_| rng.between(least, most)).collect();

        assert!(waits.iter().all(|wait| (least..=most).contains(wait)));
        assert!(waits.iter().any(|wait| *wait < Duration::from_millis(12)));
        assert!(waits.iter().any(|wait| *wait > Duration::from_millis(18)));
    }
}
