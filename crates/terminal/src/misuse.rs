//! Wrong usage that clap cannot see: an argument that names something unusable.

use std::fmt;

/// Wrong usage of a command. It ends with exit code 2.
#[derive(Debug)]
pub struct Misuse {
    /// What happened.
    pub what: String,
    /// What was tried.
    pub tried: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, tried, hint } = self;
        write!(f, "error: {what}\n  tried: {tried}\n\nhint: {hint}")
    }
}

impl std::error::Error for Misuse {}
