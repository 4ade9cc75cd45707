//! What the page shows: the last things that were seen, so many and no more.
//!
//! Readers ask for what came after a number. A reader that is slow misses what is not kept any more;
//! it holds nothing up and costs nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

/// What is known now.
pub(super) struct PageBoard {
    state: Mutex<BoardState>,
    /// The number of the newest.
    newest: watch::Sender<u64>,
}

#[derive(Clone)]
pub(super) struct BoardState {
    /// The address of the server, or its program.
    pub(super) server: String,
    /// What the server calls itself.
    pub(super) name: Option<String>,
    /// The status that was told last.
    pub(super) status: Option<BoardLine>,
    /// The newest last.
    pub(super) kept: VecDeque<BoardLine>,
}

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct BoardLine {
    /// They count from one.
    pub(super) number: u64,
    pub(super) kind: BoardKind,
    /// How long after the start.
    pub(super) at: String,
    pub(super) words: String,
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::talk::watch) enum BoardKind {
    Event,
    Missed,
    Notification,
    Status,
}

impl BoardKind {
    /// In one word.
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
        // Within the lock, so that whoever hears of a number finds it.
        self.newest.send_replace(number);
    }

    /// Everything, as it is now.
    pub(super) fn state(&self) -> BoardState {
        self.lock().clone()
    }

    /// What came after this number, the oldest first: as many as are passed on at once.
    pub(super) fn after(&self, number: u64) -> Vec<BoardLine> {
        let state = self.lock();
        state.kept.iter().filter(|it| it.number > number).take(MOST_AT_ONCE).cloned().collect()
    }

    /// Tells when something is added.
    pub(super) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        // Nothing is half added.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server may send messages of many megabytes; stdout has them whole.
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
