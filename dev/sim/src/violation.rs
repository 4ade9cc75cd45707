//! A broken promise, and the world in which it was broken.

use std::fmt;

/// A promise, and what happened instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The world it happened in.
    pub seed: u64,
    /// What was promised.
    pub promise: &'static str,
    /// What happened instead.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}: {}", self.seed, self.promise, self.what)
    }
}
