//! A gate that holds a server back until a test opens it.

use std::sync::Arc;

use ridethrough_lab::{Mcp, Times, When};
use tokio::sync::Semaphore;

/// A gate that holds requests until a test opens it. Clones share one gate.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) async fn pass(&self) {
        // Closing the semaphore opens the gate: no waiter gets a permit, and none waits any more.
        self.0.acquire().await.unwrap_err();
    }

    /// Makes the server accept these requests, and handle them once the gate is open.
    pub(crate) fn hold(&self, mcp: &Mcp, when: When) {
        let gate = self.clone();
        mcp.rule(when, Times::Always, move |ask| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                ask.pass().await;
            }
        });
    }

    pub(crate) fn open(&self) {
        self.0.close();
    }
}
