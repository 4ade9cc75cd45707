//! A trace of a world, line by line: a seed always writes identical bytes.

use std::fmt::Write;
use std::time::Duration;

/// The lines, if a trace was asked for.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<String>);

impl Trace {
    /// Returns a trace, which is written if it is wanted.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self(is_wanted.then(String::new))
    }

    pub(crate) fn write(&mut self, at: Duration, line: impl FnOnce() -> String) {
        if let Some(text) = &mut self.0 {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{:>10.3}  {}", at.as_secs_f64(), line());
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.0.unwrap_or_default()
    }
}
