//! The computer that the clients of a world run on: it sleeps, and its wall clock is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A computer with a wall clock. Clones share one computer.
#[derive(Clone, Debug)]
pub(crate) struct Computer {
    /// The difference between its wall clock and its time awake, in seconds.
    ahead: Arc<AtomicU64>,
}

impl Computer {
    pub(crate) fn new() -> Self {
        Self { ahead: Arc::new(AtomicU64::new(BORN)) }
    }

    pub(crate) fn sleeps(&self, time: Duration) {
        self.ahead.fetch_add(time.as_secs(), Ordering::Relaxed);
    }

    /// Sets the clock by a second or an hour, forwards or back.
    pub(crate) fn sets_its_clock(&self, how: u64) {
        let ahead = self.ahead.load(Ordering::Relaxed);
        let set = match how {
            0 => ahead + 1,
            1 => ahead + 3600,
            2 => ahead.saturating_sub(1),
            _ => ahead.saturating_sub(3600),
        };
        self.ahead.store(set, Ordering::Relaxed);
    }

    /// Returns the clock that a client reads.
    pub(crate) fn clock(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let ahead = self.ahead.clone();
        move || Duration::from_secs(ahead.load(Ordering::Relaxed))
    }
}

/// The start of the wall clock: long after the epoch, so that clocks can be set back.
const BORN: u64 = 1_000_000_000;
