//! A gate that holds a server back until a test opens it.

use std::sync::Arc;

use ridethrough_lab::{Mcp, Times, When};
use tokio::sync::Semaphore;

/// Holds whoever comes to it until a test opens it. Clones are the same gate.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) async fn pass(&self) {
        // It is opened by closing the semaphore: nobody gets a permit, and nobody waits any more.
        self.0.acquire().await.unwrap_err();
    }

    /// Lets the server take these requests, and treat them once the gate is open.
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
