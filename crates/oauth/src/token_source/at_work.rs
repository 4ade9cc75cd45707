//! Counts the work that goes on although nobody waits for it.

use tokio::sync::watch;

/// How many pieces of work are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct AtWork(watch::Sender<usize>);

impl AtWork {
    /// Counts a piece of work until the value is dropped.
    pub(super) fn begin(&self) -> Working {
        self.0.send_modify(|count| *count += 1);
        Working(self.0.clone())
    }

    /// Waits until there is no work.
    pub(super) async fn ended(&self) {
        // The sender is ours, and lives as long as we do.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// A piece of work that is under way.
pub(super) struct Working(watch::Sender<usize>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}
