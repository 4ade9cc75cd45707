//! The wait for the result of a call, and of the task that the server may make of it.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ridethrough_wire::message::{Answer, Json};

use super::super::call::{TOOLS_CALL, name_of};
use super::super::{Call, Pending, ReadResult, result};
use super::created;
use super::following::Following;
use super::plan::Plan;
use super::time::Time;
use crate::driver::DriverCommand;
use crate::error::Error;
use crate::source::Sourced;

impl<T> Call<T> {
    /// Waits for the result, and tells its source: the server, or the cache.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// let note = client.read_resource("file:///note.txt").sourced().await?;
    /// if note.source.is_stale() {
    ///     println!("from {:?} ago", note.source.age());
    /// }
    /// println!("{} parts", note.value.contents.len());
    /// # Ok(()) }
    /// ```
    pub fn sourced(self) -> PendingSourced<T> {
        PendingSourced(self.into_future())
    }

    /// Returns how to follow the task that the server may make of the call, if it may.
    pub(super) fn plan(&self) -> Option<Plan> {
        let tasks = self.client.tasks.as_ref().filter(|_| self.is_tool_call())?;
        let time = Time::of_call(&self.request.options, tasks.time);
        let (client, headers) = (self.client.clone(), self.headers.clone());
        let (call, params) = (name_of(&self.request), self.request.params.clone());
        Some(Plan { client, call, params, headers, time })
    }

    pub(super) fn is_tool_call(&self) -> bool {
        &*self.request.method == TOOLS_CALL
    }
}

impl<T> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = PendingResult<T>;

    fn into_future(self) -> PendingResult<T> {
        let (read, plan) = (self.read, self.plan());
        PendingResult::new(self.answer(), plan, read)
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

/// Whether the server says that it was asked in the wrong form. For a tool that requires a task, 2025-11-25
/// names one of these codes on one page and the other on the next.
fn is_refused_form(error: &Error) -> bool {
    error.server().is_some_and(|error| matches!(error.rpc.code, -32601 | -32600))
}
