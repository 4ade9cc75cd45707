//! One call: how it is to be treated, and the wait for its outcome.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{CallError, CallOptions, Extension, Outcome, ReplayRule, Request};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::{Client, Params, gone, result};
use crate::driver::{CallNumber, Caller, Progress, Wish};
use crate::error::Error;

/// A call that has not begun. Await it for the result, or say first how it is to be treated.
///
/// It begins with [`answer`](Self::answer), or when it is turned into a future: by `.await`, or by
/// `.into_future()` where a future is wanted, as in `join_all` and `tokio::spawn`.
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
/// use std::time::Duration;
///
/// let params = serde_json::json!({ "name": "read_file", "arguments": { "path": "a.txt" } });
/// let result = client
///     .request("tools/call", params)
///     .deadline(Duration::from_secs(20))
///     .repeatable()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "a call begins when it is awaited or turned into a future"]
pub struct Call {
    client: Client,
    request: Request,
    listener: Option<Listener>,
}

type Listener = Box<dyn FnMut(Json) + Send>;

impl Call {
    pub(super) fn new(client: Client, method: Arc<str>, params: Params) -> Self {
        let options = CallOptions::default();
        Self { client, request: Request { method, params: params.0, options }, listener: None }
    }

    /// The call's own time, in all: waits, repeats and resumes included. Without it, that of the
    /// policy: 10 minutes for `tools/call`, 60 s for every other method.
    pub const fn deadline(mut self, time: Duration) -> Self {
        self.request.options.deadline = Some(time);
        self
    }

    /// A second run does no harm: the call may be sent again when it is in doubt.
    pub const fn repeatable(mut self) -> Self {
        self.request.options.replay = ReplayRule::Repeatable;
        self
    }

    /// More time with each progress, under an absolute cap.
    pub const fn extended_by_progress(mut self, extension: Extension) -> Self {
        self.request.options.extension = Some(extension);
        self
    }

    /// Asks the server for progress and hands its params over as they come.
    ///
    /// The listener runs where the call is awaited. If it is slow, the oldest progress is skipped;
    /// progress that does not increase is never handed over.
    pub fn on_progress(mut self, listener: impl FnMut(Json) + Send + 'static) -> Self {
        self.request.options.progress = true;
        self.listener = Some(Box::new(listener));
        self
    }

    /// Waits for the answer, be it a result or an error of the server's.
    pub fn answer(self) -> Pending {
        let Self { client, request, listener } = self;
        let (reply, outcome) = oneshot::channel();
        let listener = listener.map(|listener| (Progress::default(), listener));
        let progress = listener.as_ref().map(|(progress, _)| progress.clone());
        let caller = Caller { number: client.next_call(), reply, progress };
        let method = request.method.clone();
        let pending = Pending::new(client.clone(), method, caller.number, outcome, listener);
        client.wish(Wish::Send { caller, request });
        pending
    }

    /// Waits for the result and reads it as a `T`.
    pub async fn typed<T: DeserializeOwned>(self) -> Result<T, Error> {
        let result = self.await?;
        serde_json::from_slice(result.as_bytes()).map_err(|source| Error::Answer { result, source })
    }
}

impl IntoFuture for Call {
    type Output = Result<Json, Error>;
    type IntoFuture = PendingResult;

    fn into_future(self) -> PendingResult {
        PendingResult(self.answer())
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("request", &self.request).finish_non_exhaustive()
    }
}

/// A call that waits for its answer. Dropping it cancels the call.
#[must_use = "dropping a call cancels it"]
pub struct Pending {
    client: Client,
    method: Arc<str>,
    number: CallNumber,
    outcome: oneshot::Receiver<Outcome>,
    progress: Option<(Progress, Listener)>,
    has_ended: bool,
}

impl Pending {
    pub(super) const fn new(
        client: Client,
        method: Arc<str>,
        number: CallNumber,
        outcome: oneshot::Receiver<Outcome>,
        progress: Option<(Progress, Listener)>,
    ) -> Self {
        Self { client, method, number, outcome, progress, has_ended: false }
    }
}

impl Future for Pending {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some((progress, listener)) = &mut self.progress {
            while let Some(params) = progress.next(context) {
                listener(params);
            }
        }
        let outcome = std::task::ready!(Pin::new(&mut self.outcome).poll(context));
        self.has_ended = true;
        Poll::Ready(outcome.unwrap_or_else(|_| Err(gone(self.method.clone()))))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.has_ended {
            self.client.wish(Wish::Cancel(self.number));
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("method", &self.method).finish_non_exhaustive()
    }
}

/// A call that waits for its result. Dropping it cancels the call.
#[derive(Debug)]
#[must_use = "dropping a call cancels it"]
pub struct PendingResult(Pending);

impl Future for PendingResult {
    type Output = Result<Json, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(result)
    }
}
