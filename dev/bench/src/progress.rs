//! The progress of a measurement.

use std::io::{IsTerminal, Write, stderr};

/// Shows what is being measured, on stderr: in place on a terminal, a line for each figure elsewhere.
pub(crate) struct Progress {
    what: String,
    rounds: usize,
}

impl Progress {
    pub(crate) fn new(what: impl Into<String>, rounds: usize) -> Self {
        Self { what: what.into(), rounds }
    }

    /// Shows that a round begins, counted from 0.
    pub(crate) fn round(&self, number: usize) {
        let Self { what, rounds } = self;
        if stderr().is_terminal() {
            eprint!("\r\x1b[2K{what}: round {} of {rounds}", number + 1);
            // If this fails, no one sees the progress, which does no harm.
            let _ = stderr().flush();
        } else if number == 0 {
            eprintln!("{what}: {rounds} rounds");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if stderr().is_terminal() {
            eprintln!();
        }
    }
}
