//! Tells on a terminal how far a long run has come, every second.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Says nothing where nobody looks, and nothing in the first two seconds.
pub(super) struct Ticker {
    is_watched: bool,
    began: Instant,
    told: Mutex<Option<Instant>>,
}

impl Ticker {
    pub(super) fn start() -> Self {
        let is_watched = io::stderr().is_terminal();
        Self { is_watched, began: Instant::now(), told: Mutex::new(None) }
    }

    pub(super) fn tell(&self, what: impl FnOnce() -> String) {
        if !self.is_watched || self.began.elapsed() < Duration::from_secs(2) {
            return;
        }
        let Ok(mut told) = self.told.lock() else { return };
        if told.is_none_or(|told| told.elapsed() >= Duration::from_secs(1)) {
            *told = Some(Instant::now());
            eprint!("\r{}\x1b[K", what());
            let _ = io::stderr().flush();
        }
    }

    /// Makes room for what is printed next, and says how long it took.
    pub(super) fn end(self) -> f64 {
        if self.told.into_inner().is_ok_and(|told| told.is_some()) {
            eprintln!();
        }
        self.began.elapsed().as_secs_f64()
    }
}
