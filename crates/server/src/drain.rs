//! Whether the server is being drained: what has begun finishes, and nothing new begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A switch that is turned once. Clones share it.
///
/// It wakes those who wait in their order. A `watch` channel of tokio wakes them in a random one, and a
/// simulated world could not be repeated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain(Arc<DrainState>);

#[derive(Debug, Default)]
struct DrainState {
    has_begun: AtomicBool,
    begins: Notify,
}

impl Drain {
    /// Begins to drain.
    pub(crate) fn begin(&self) {
        self.0.has_begun.store(true, Ordering::Release);
        self.0.begins.notify_waiters();
    }

    /// Whether draining has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }

    /// Waits until draining begins.
    pub(crate) async fn begins(&self) {
        // It is made before the check, so that a beginning in between is not missed.
        let begins = self.0.begins.notified();
        if !self.has_begun() {
            begins.await;
        }
    }
}
