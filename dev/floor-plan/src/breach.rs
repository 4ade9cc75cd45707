//! One broken rule: where it is, what is wrong, what the rule is.

use std::fmt;

/// A place where the workspace departs from its plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    place: String,
    line: usize,
    what: String,
}

impl Breach {
    /// Returns a breach of a whole crate, or of the plan itself.
    pub fn of(place: &str, what: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line: 0, what: what.into() }
    }

    /// Returns a breach in one line of a source file.
    pub fn at(crate_name: &str, file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { place: format!("{crate_name} src/{file}"), line, what: what.into() }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.place, self.what),
            line => write!(f, "{}:{line}: {}", self.place, self.what),
        }
    }
}
