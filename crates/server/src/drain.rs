//! The end of a server in two steps, each of which is taken once.
//!
//! ```text
//!   Serving ──begin──▶ Draining ──leave──▶ Leaving
//! ```
//! *Draining*: what has begun goes on, also with further calls of its sessions, and nothing new begins; clients
//! are asked to open connections and streams anew. *Leaving*: each connection is closed after what is being
//! answered on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// How far the end of the server has come. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain(Arc<DrainState>);

#[derive(Debug, Default)]
struct DrainState {
    begins: Switch,
    leaves: Switch,
}

/// A switch that is turned once.
///
/// It wakes those who wait in their order. A `watch` channel of tokio wakes them in a random one, and a
/// simulated world could not be repeated.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    is_on: AtomicBool,
    turns: Notify,
}

impl Drain {
    /// Begins to drain.
    pub(crate) fn begin(&self) {
        self.0.begins.turn();
    }

    /// Begins to leave.
    pub(crate) fn leave(&self) {
        self.0.leaves.turn();
    }

    /// Whether draining has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.begins.is_on()
    }

    /// Waits until draining begins.
    pub(crate) async fn begins(&self) {
        self.0.begins.turned().await;
    }

    /// Waits until the server leaves.
    pub(crate) async fn leaves(&self) {
        self.0.leaves.turned().await;
    }
}

impl Switch {
    pub(crate) fn turn(&self) {
        self.is_on.store(true, Ordering::Release);
        self.turns.notify_waiters();
    }

    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    pub(crate) async fn turned(&self) {
        // It is made before the check, so that a turn in between is not missed.
        let turns = self.turns.notified();
        if !self.is_on() {
            turns.await;
        }
    }
}
