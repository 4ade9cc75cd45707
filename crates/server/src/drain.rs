//! Whether the server is being drained: what has begun finishes, and nothing new begins.

use tokio::sync::watch;

/// A switch that is turned once. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Drain(watch::Sender<bool>);

impl Default for Drain {
    fn default() -> Self {
        Self(watch::channel(false).0)
    }
}

impl Drain {
    /// Begins to drain.
    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Whether draining has begun.
    pub(crate) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until draining begins.
    pub(crate) async fn begins(&self) {
        // This fails only if the sender is gone, and this object is the sender.
        let _ = self.0.subscribe().wait_for(|has_begun| *has_begun).await;
    }
}
