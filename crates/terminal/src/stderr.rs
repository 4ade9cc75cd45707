//! Stderr for the person, with one line at its end that changes while something is under way.
//!
//! The changing line is for terminals only. Whatever else is written removes it first and puts it back.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Stderr of a running command.
pub struct Terminal {
    is_terminal: bool,
    /// Whether only the end of the command is left to wait for.
    is_done: AtomicBool,
    line: Mutex<LastLine>,
}

/// The line at the end of stderr.
enum LastLine {
    Nothing,
    /// The progress of a call.
    Progress(String),
    /// A prompt, behind which a person may have begun to type.
    Prompt(String),
    /// A note that no answer has come yet.
    Waiting(String),
}

impl Default for Terminal {
    fn default() -> Self {
        let (is_terminal, is_done) = (io::stderr().is_terminal(), AtomicBool::new(false));
        Self { is_terminal, is_done, line: Mutex::new(LastLine::Nothing) }
    }
}

impl Terminal {
    /// Notes that only the end of the command is left to wait for.
    pub fn done(&self) {
        self.is_done.store(true, Relaxed);
    }

    /// Whether only the end of the command is left to wait for.
    pub fn is_done(&self) -> bool {
        self.is_done.load(Relaxed)
    }

    /// Whether stderr is a terminal, on which a line can change.
    pub const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes a line that stays.
    pub fn say(&self, text: &str) {
        let line = self.lock();
        let (before, after) = match &*line {
            LastLine::Progress(line) | LastLine::Waiting(line) => (CLEAR, line.as_str()),
            // What was typed cannot be put back: it stays above.
            LastLine::Prompt(line) => ("\n", line.as_str()),
            LastLine::Nothing => ("", ""),
        };
        write(&format!("{before}{text}\n{after}"));
    }

    /// Shows progress.
    pub fn show(&self, text: &str) {
        let mut line = self.lock();
        if self.is_terminal && !matches!(*line, LastLine::Prompt(_)) {
            let text = cut(text);
            write(&format!("{CLEAR}{text}"));
            *line = LastLine::Progress(text);
        }
    }

    /// Shows that no answer has come yet, unless there is progress.
    pub fn wait(&self, text: &str) {
        let mut line = self.lock();
        if self.is_terminal && !matches!(*line, LastLine::Progress(_) | LastLine::Prompt(_)) {
            let text = cut(text);
            write(&format!("{CLEAR}{text}"));
            *line = LastLine::Waiting(text);
        }
    }

    /// Asks a person for a line: writes the text, whose last line stays until they have answered.
    pub fn ask(&self, text: &str) {
        let mut line = self.lock();
        let before = if matches!(*line, LastLine::Nothing) { "" } else { CLEAR };
        write(&format!("{before}{text}"));
        *line = LastLine::Prompt(text.rsplit('\n').next().unwrap_or_default().to_owned());
    }

    /// Notes that the person has ended the line that was asked for.
    pub fn answered(&self) {
        *self.lock() = LastLine::Nothing;
    }

    /// Removes the changing line.
    pub fn clear(&self) {
        let mut line = self.lock();
        match *line {
            LastLine::Nothing => {}
            LastLine::Progress(_) | LastLine::Waiting(_) => write(CLEAR),
            LastLine::Prompt(_) => write("\n"),
        }
        *line = LastLine::Nothing;
    }

    fn lock(&self) -> MutexGuard<'_, LastLine> {
        // Each change is one assignment, so a poisoned lock holds a whole value.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(text: &str) {
    // A closed stderr is not an error.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Returns as much as fits on one line of a narrow terminal: a line that wraps cannot be removed.
fn cut(text: &str) -> String {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

const CLEAR: &str = "\r\x1b[K";
const WIDTH: usize = 72;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_changes_never_wraps() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"é".repeat(200)).chars().count(), WIDTH + 3);
    }
}
