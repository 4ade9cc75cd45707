//! How much is measured.

/// Rounds, and what is done in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The rounds of each figure; at least five, so that a median means something.
    pub(crate) rounds: usize,
    /// Calls of each contestant in each round.
    pub(crate) calls: usize,
    /// Calls of each client whose connections are counted.
    pub(crate) connected_calls: usize,
}

impl Pace {
    pub(crate) const FULL: Self = Self { rounds: 15, calls: 4_000, connected_calls: 1_000 };
    pub(crate) const QUICK: Self = Self { rounds: 5, calls: 1_500, connected_calls: 1_000 };
    /// The pace for a test that everything runs; it says nothing about speed.
    pub(crate) const SMOKE: Self = Self { rounds: 2, calls: 200, connected_calls: 50 };
}
