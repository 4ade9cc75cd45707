//! Children as the backend of a server: one is started for each conversation, at a pace.

use std::sync::Arc;

use ridethrough_server::{Backend, BoxFuture, Caller, Conversation, HostSide, Unavailable};
use tokio::time::sleep;

use crate::child::Start;
use crate::conversation;
use crate::news::News;
use crate::pace::{PATIENCE, Starts};

/// Starts a child for each conversation.
pub(crate) struct Children {
    start: Box<dyn Start>,
    starts: Starts,
}

impl Children {
    pub(crate) fn new(start: impl Start, tell: Arc<dyn Fn(News) + Send + Sync>) -> Self {
        Self { start: Box::new(start), starts: Starts::new(tell) }
    }

    async fn open(&self, host: HostSide) -> Result<Conversation, Unavailable> {
        self.keep_pace().await?;
        let child = self.start.start().await.map_err(|error| {
            let what = format!("`{}` could not be started: {error}", self.start.name());
            self.starts.failed(&what);
            Unavailable { what, retry_after: self.starts.wait() }
        })?;
        Ok(conversation::with(child, self.start.name(), self.starts.clone(), host))
    }

    /// Waits out a short pause; after a long one, the client is told when to come again.
    async fn keep_pace(&self) -> Result<(), Unavailable> {
        loop {
            let wait = self.starts.wait();
            if wait.is_zero() {
                return Ok(());
            }
            if wait > PATIENCE {
                let what = format!("`{}` keeps dying soon after its start", self.start.name());
                return Err(Unavailable { what, retry_after: wait });
            }
            sleep(wait).await;
        }
    }
}

impl Backend for Children {
    fn open<'a>(
        &'a self,
        _: &'a Caller,
        host: HostSide,
    ) -> BoxFuture<'a, Result<Conversation, Unavailable>> {
        Box::pin(self.open(host))
    }

    fn name(&self) -> &str {
        self.start.name()
    }
}
