//! The wait for the answer to a call.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ridethrough_core::CallError;
use ridethrough_wire::message::Answer;
use tokio::sync::oneshot;

use super::{Client, gone};
use crate::driver::{CallNumber, DriverCommand, Ended, ProgressReader};
use crate::model::{self, Progress};
use crate::source::Source;

pub(super) type Listener = Box<dyn FnMut(Progress) + Send>;

/// A call that waits for its answer. Dropping it cancels the call.
#[must_use = "dropping a call cancels it"]
pub struct Pending {
    pub(super) client: Client,
    pub(super) method: Arc<str>,
    number: CallNumber,
    outcome: oneshot::Receiver<Ended>,
    listener: Option<(ProgressReader, Listener)>,
    /// The source of the result, once there is one.
    pub(super) source: Source,
    has_ended: bool,
}

impl Pending {
    pub(super) const fn new(
        client: Client,
        method: Arc<str>,
        number: CallNumber,
        outcome: oneshot::Receiver<Ended>,
        listener: Option<(ProgressReader, Listener)>,
    ) -> Self {
        let source = Source::Server;
        Self { client, method, number, outcome, listener, source, has_ended: false }
    }

    /// Cancels the call, as dropping it does, but leaves its outcome to be awaited: the answer, if it was
    /// already on its way, or [`Kind::Cancelled`](ridethrough_core::Kind::Cancelled) with what is known about
    /// the server having run it.
    pub fn cancel(&self) {
        self.client.command(DriverCommand::Cancel(self.number));
    }

    /// Takes an outcome that has arrived and was not polled. Nothing arrives after this.
    pub(super) fn unseen(&mut self) -> Option<Result<Answer, CallError>> {
        self.outcome.close();
        let ended = self.outcome.try_recv().ok()?;
        self.has_ended = true;
        Some(ended.outcome)
    }
}

impl Future for Pending {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // The outcome is polled first: all progress before it has then arrived, and is passed on before it.
        let outcome = Pin::new(&mut self.outcome).poll(context);
        self.has_ended = outcome.is_ready();
        if let Some((steps, listener)) = &mut self.listener {
            while let Poll::Ready(Some(step)) = steps.poll_next(context) {
                if let Ok(step) = model::read(step) {
                    listener(step);
                }
            }
        }
        let Ok(Ended { outcome, source }) = ready!(outcome) else {
            return Poll::Ready(Err(gone(self.method.clone())));
        };
        self.source = source;
        Poll::Ready(outcome)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.has_ended {
            self.client.command(DriverCommand::Cancel(self.number));
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("method", &self.method).finish_non_exhaustive()
    }
}
