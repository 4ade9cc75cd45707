//! The wait for the outcome of a call, and of the task that a server may make of it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ridethrough_core::CallError;
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::oneshot;

use super::call::ReadResult;
use super::task::{Following, Plan, created, is_refused_form};
use super::{Client, gone, result};
use crate::driver::{CallNumber, DriverCommand, Ended, ProgressReader};
use crate::error::Error;
use crate::model::{self, Progress};
use crate::source::{Source, Sourced};

pub(super) type Listener = Box<dyn FnMut(Progress) + Send>;

/// A call that waits for its answer. Dropping it cancels the call.
#[must_use = "dropping a call cancels it"]
pub struct Pending {
    client: Client,
    method: Arc<str>,
    number: CallNumber,
    outcome: oneshot::Receiver<Ended>,
    listener: Option<(ProgressReader, Listener)>,
    /// The source of the result, once there is one.
    source: Source,
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
}

impl Pending {
    /// Cancels the call, as dropping it does, but leaves its outcome to be awaited: the answer, if it was
    /// already on its way, or [`Kind::Cancelled`](ridethrough_core::Kind::Cancelled) with what is known about
    /// the server having run it.
    pub fn cancel(&self) {
        self.client.command(DriverCommand::Cancel(self.number));
    }

    /// Takes an outcome that has arrived and was not polled. Nothing arrives after this.
    fn unseen(&mut self) -> Option<Result<Answer, CallError>> {
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

/// A call that waits for its result. Dropping it cancels the call, or the task that was made of it.
#[must_use = "dropping a call cancels it"]
pub struct PendingResult<T = Json> {
    pending: Pending,
    /// How to follow a task; `None` once a task is followed.
    plan: Option<Plan>,
    following: Option<Following>,
    read: ReadResult<T>,
}

impl<T> PendingResult<T> {
    pub(super) const fn new(pending: Pending, plan: Option<Plan>, read: ReadResult<T>) -> Self {
        Self { pending, plan, following: None, read }
    }

    /// Waits for the answer without following a task in it.
    pub(super) async fn unfollowed(mut self) -> Result<Json, Error> {
        result((&mut self.pending).await)
    }

    fn poll_result(&mut self, context: &mut Context<'_>) -> Poll<Result<Json, Error>> {
        if let Some(following) = &mut self.following {
            return Pin::new(following).poll(context);
        }
        let result = result(ready!(Pin::new(&mut self.pending).poll(context)));
        let Some(plan) = self.plan.take() else { return Poll::Ready(result) };
        let following = match result {
            Ok(json) => match created(&json) {
                None => return Poll::Ready(Ok(json)),
                Some(Ok(state)) => plan.follow_or_cancel(state),
                Some(Err(source)) => return Poll::Ready(Err(self.unreadable(json, source))),
            },
            Err(error) if plan.is_plain() && is_refused_form(&error) => plan.call_as_task(error),
            Err(error) => return Poll::Ready(Err(error)),
        };
        Pin::new(self.following.insert(following)).poll(context)
    }

    fn unreadable(&self, result: Json, source: serde_json::Error) -> Error {
        Error::Answer { method: self.pending.method.clone(), result, source: source.into() }
    }
}

impl<T> Drop for PendingResult<T> {
    /// Cancels a task in an answer that has arrived and was not polled: no other handle to it exists.
    fn drop(&mut self) {
        let Some(plan) = self.plan.take() else { return };
        if let Some(Ok(Answer::Result(json))) = self.pending.unseen()
            && let Some(state) = plan.made(&json)
        {
            plan.cancel(state.id);
        }
    }
}

impl<T> Future for PendingResult<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.poll_result(context))?;
        // A clone of the text shares its bytes.
        let read = (self.read)(result.clone());
        Poll::Ready(read.map_err(|source| {
            // A result that cannot be read is not worth keeping.
            let method = self.pending.method.clone();
            self.pending.client.command(DriverCommand::Forget { method });
            self.unreadable(result, source)
        }))
    }
}

impl<T> fmt::Debug for PendingResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pending.fmt(f)
    }
}

/// A call that waits for its result and the result's source. Dropping it cancels the call.
#[must_use = "dropping a call cancels it"]
pub struct PendingSourced<T = Json>(PendingResult<T>);

impl<T> PendingSourced<T> {
    pub(super) const fn new(pending: PendingResult<T>) -> Self {
        Self(pending)
    }
}

impl<T> Future for PendingSourced<T> {
    type Output = Result<Sourced<T>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let value = ready!(Pin::new(&mut self.0).poll(context))?;
        let source = std::mem::take(&mut self.0.pending.source);
        Poll::Ready(Ok(Sourced { value, source }))
    }
}

impl<T> fmt::Debug for PendingSourced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
