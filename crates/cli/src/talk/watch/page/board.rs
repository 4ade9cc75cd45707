//! The content of the page: a bounded number of the last lines.
//!
//! Readers ask for the lines after a number. A slow reader misses lines that are not kept any more; it holds
//! nothing up and uses no memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

/// The lines of the page, shared by its readers.
pub(super) struct PageBoard {
    state: Mutex<BoardState>,
    /// The number of the newest line.
    newest: watch::Sender<u64>,
}

#[derive(Clone)]
pub(super) struct BoardState {
    /// The address of the server, or its program.
    pub(super) server: String,
    /// What the server calls itself.
    pub(super) name: Option<String>,
    /// The status that was shown last.
    pub(super) status: Option<BoardLine>,
    /// The lines, the newest last.
    pub(super) kept: VecDeque<BoardLine>,
}

/// One line of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BoardLine {
    /// The number of the line, from one.
    pub(super) number: u64,
    pub(super) kind: BoardKind,
    /// How long after the start it was seen.
    pub(super) at: String,
    pub(super) words: String,
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::talk::watch) enum BoardKind {
    Event,
    Missed,
    Notification,
    Status,
}

impl BoardKind {
    /// Returns the kind in one word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Missed => "missed",
            Self::Notification => "notification",
            Self::Status => "status",
        }
    }
}

impl PageBoard {
    pub(super) fn new(server: &str) -> Self {
        let server = server.to_owned();
        let state = BoardState { server, name: None, status: None, kept: VecDeque::new() };
        Self { state: Mutex::new(state), newest: watch::Sender::new(0) }
    }

    pub(super) fn name(&self, name: &str) {
        self.lock().name = Some(shortened(name));
    }

    pub(super) fn add(&self, kind: BoardKind, at: &str, words: &str) {
        let mut state = self.lock();
        let number = *self.newest.borrow() + 1;
        let kept = BoardLine { number, kind, at: at.trim().to_owned(), words: shortened(words) };
        if kind == BoardKind::Status {
            state.status = Some(kept.clone());
        }
        if state.kept.len() == MOST_KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back(kept);
        // Within the lock, so that a reader that learns of a number finds its line.
        self.newest.send_replace(number);
    }

    /// Returns a copy of the whole content.
    pub(super) fn state(&self) -> BoardState {
        self.lock().clone()
    }

    /// Returns the lines after this number, the oldest first: as many as are sent at once.
    pub(super) fn after(&self, number: u64) -> Vec<BoardLine> {
        let state = self.lock();
        state.kept.iter().filter(|it| it.number > number).take(MOST_AT_ONCE).cloned().collect()
    }

    /// Returns a receiver that is notified of each new line.
    pub(super) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        // A line is added in one step, so a poisoned lock holds whole lines.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cuts long words: a server may send messages of many megabytes. stdout has them whole.
fn shortened(words: &str) -> String {
    match words.char_indices().nth(MOST_WORDS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

pub(super) const MOST_KEPT: usize = 500;
const MOST_WORDS: usize = 2000;
const MOST_AT_ONCE: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_kept_and_each_is_short() {
        let board = PageBoard::new("server");

        for _ in 0..3 * MOST_KEPT {
            board.add(BoardKind::Event, "1 s", &"x".repeat(10 * MOST_WORDS));
        }

        let state = board.state();
        assert_eq!(state.kept.len(), MOST_KEPT);
        assert_eq!(state.kept.back().unwrap().number, 3 * MOST_KEPT as u64);
        assert!(state.kept.iter().all(|it| it.words.chars().count() == MOST_WORDS + 1));
        assert_eq!(board.after(0).len(), MOST_AT_ONCE);
    }

    #[test]
    fn a_reader_gets_what_came_after_what_it_has_seen() {
        let board = PageBoard::new("server");
        for words in ["one", "two", "three"] {
            board.add(BoardKind::Event, "1 s", words);
        }

        let words: Vec<_> = board.after(1).into_iter().map(|it| it.words).collect();

        assert_eq!(words, ["two", "three"]);
        assert!(board.after(3).is_empty());
    }
}
