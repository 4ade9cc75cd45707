//! Counts the bytes on each line of a network, and notices when a line breaks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the server.
    ToClient,
    /// From the client.
    ToServer,
}

/// The byte counts of every line of a network, by the number of its dial. Clones share one meter.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    lines: Arc<Mutex<Vec<Tally>>>,
}

/// The byte counts of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Bytes from the server.
    pub to_client: u64,
    /// Bytes from the client.
    pub to_server: u64,
    /// Whether it has broken.
    pub is_broken: bool,
}

impl Passed {
    /// Returns how many bytes went in this direction.
    pub const fn bytes(&self, way: Way) -> u64 {
        match way {
            Way::ToClient => self.to_client,
            Way::ToServer => self.to_server,
        }
    }
}

impl Meter {
    /// Returns the counts so far. A dial that led to no connection counts nothing.
    pub fn passed(&self) -> Vec<Passed> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(Tally::passed).collect()
    }

    /// Returns the counter of this dial.
    pub(super) fn tally(&self, dial: u64) -> Tally {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(dial).unwrap_or(usize::MAX);
        while lines.len() <= place {
            lines.push(Tally::default());
        }
        lines[place].clone()
    }
}

/// The counter of one line.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    to_client: AtomicU64,
    to_server: AtomicU64,
    is_broken: AtomicBool,
}

impl Tally {
    pub(super) fn add(&self, way: Way, bytes: usize) {
        let count = match way {
            Way::ToClient => &self.0.to_client,
            Way::ToServer => &self.0.to_server,
        };
        count.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn broken(&self) {
        self.0.is_broken.store(true, Ordering::Relaxed);
    }

    fn passed(&self) -> Passed {
        Passed {
            to_client: self.0.to_client.load(Ordering::Relaxed),
            to_server: self.0.to_server.load(Ordering::Relaxed),
            is_broken: self.0.is_broken.load(Ordering::Relaxed),
        }
    }
}
