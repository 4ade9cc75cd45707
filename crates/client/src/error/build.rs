//! The error of a client that cannot be built.

use std::fmt;

/// All faults in a client's settings, each with field, value and bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    faults: Vec<String>,
}

impl BuildError {
    pub(crate) const fn new(faults: Vec<String>) -> Self {
        Self { faults }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.faults.join("; "))
    }
}

impl std::error::Error for BuildError {}
