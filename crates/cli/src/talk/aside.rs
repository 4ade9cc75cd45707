//! The time limit of a command: on its requests, and on work on data of a server, which runs on a thread of its own
//! so that the command meanwhile reacts to signals.

use std::fmt;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough::Call;
use ridethrough::call::List;
use ridethrough::model::{Prompt, Resource, ResourceTemplate, TaskState, Tool};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::Talk;

/// The command's time was over before the work was done.
#[derive(Debug)]
pub(super) struct Late;

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the time was over while what the server sent was looked at\n  tried: the server was asked; \
             no tool was called\n\nhint: `--timeout` gives more time",
        )
    }
}

impl std::error::Error for Late {}

impl Talk {
    /// Does the work within the command's time. A thread that takes longer ends with the command.
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        match until(self.ends, work).await? {
            Some(done) => Ok(done),
            None => Err(Late.into()),
        }
    }
}

/// Does work that a command can do without: `None` if it is not done within a moment, or cannot be done.
pub(super) async fn briefly<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    until(Some(Instant::now() + MOMENT), work).await.unwrap_or_default()
}

async fn until<T: Send + 'static>(
    ends: Option<Instant>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>> {
    let (done, waited) = oneshot::channel();
    thread::Builder::new()
        .name("schemas".to_owned())
        .stack_size(STACK)
        // The receiver may be gone.
        .spawn(move || drop(done.send(work())))
        .context("no thread could be started")?;
    let waited = match ends {
        Some(ends) => timeout_at(ends, waited).await.ok(),
        None => Some(waited.await),
    };
    waited.transpose().context("what the server sent could not be looked at")
}

/// A request that was not sent yet.
pub(super) trait Timed {
    /// Returns this request with a limit on its whole time.
    fn within(self, time: Duration) -> Self;
}

impl<T> Timed for Call<T> {
    fn within(self, time: Duration) -> Self {
        self.timeout(time)
    }
}

macro_rules! lists {
    ($($item:ty),+) => {$(
        impl Timed for List<$item> {
            fn within(self, time: Duration) -> Self {
                self.timeout(time)
            }
        }
    )+};
}

lists!(Prompt, Resource, ResourceTemplate, TaskState, Tool);

/// The size of the stack: schemas refer to themselves, and following them recurses deeply.
const STACK: usize = 256 << 20;
const MOMENT: Duration = Duration::from_secs(5);
