//! Children as the backend of a server: one is started for each conversation, at a pace.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ridethrough_server::{Backend, BoxFuture, Caller, Conversation, HostSide, Unavailable};
use tokio::time::{Instant, sleep};

use crate::child::Start;
use crate::conversation;
use crate::news::News;
use crate::pace::Pace;

/// Starts a child for each conversation.
pub(crate) struct Children {
    start: Box<dyn Start>,
    starts: Starts,
}

/// The outcomes of starts: children that die young make the next one wait.
#[derive(Clone)]
pub(crate) struct Starts {
    pace: Arc<Mutex<Pace>>,
    tell: Arc<dyn Fn(News) + Send + Sync>,
}

impl Children {
    pub(crate) fn new(start: impl Start, tell: Arc<dyn Fn(News) + Send + Sync>) -> Self {
        Self { start: Box::new(start), starts: Starts { pace: Arc::default(), tell } }
    }

    async fn open(&self, host: HostSide) -> Result<Conversation, Unavailable> {
        self.keep_pace().await?;
        let child = self.start.start().await.map_err(|error| {
            let what = format!("`{}` could not be started: {error}", self.start.name());
            (self.starts.tell)(News::NotStarted { what: what.clone() });
            let pause = self.starts.died(Duration::ZERO);
            self.starts.tell_pause(pause);
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

impl Starts {
    /// Returns how long the next start has to wait.
    pub(crate) fn wait(&self) -> Duration {
        self.with_pace(|pace, now| pace.wait(now))
    }

    /// Records a child that ended by itself, this long after its start. Returns how long the next start has
    /// to wait.
    pub(crate) fn died(&self, lived: Duration) -> Duration {
        self.with_pace(|pace, now| {
            pace.died(now, lived);
            pace.wait(now)
        })
    }

    /// Records a child that worked until it was asked to end.
    pub(crate) fn did_well(&self) {
        self.with_pace(|pace, _| pace.did_well());
    }

    /// Reports a pause that clients notice.
    pub(crate) fn tell_pause(&self, pause: Duration) {
        if pause > PATIENCE {
            (self.tell)(News::Paused { pause });
        }
    }

    fn with_pace<T>(&self, change: impl FnOnce(&mut Pace, Instant) -> T) -> T {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        change(&mut self.pace.lock().unwrap_or_else(PoisonError::into_inner), Instant::now())
    }
}

/// The longest pause that `initialize` waits out: not every client knows how to come again.
const PATIENCE: Duration = Duration::from_secs(1);
