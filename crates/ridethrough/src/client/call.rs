//! One call: how it is to be treated, and the wait for its outcome.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::HeaderMap;
use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{
    CallError, CallName, CallOptions, Delivery, Extension, Kind, Outcome, Reason, ReplayRule,
    Request,
};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::{Client, Params, ProgressStream, gone, result};
use crate::driver::{CallNumber, Caller, Reporter, Steps, Wish, progress};
use crate::error::Error;
use crate::http::checked_header;
use crate::model::{self, Progress};

/// A call that has not begun. Await it for its result, or say first how it is to be treated.
///
/// It begins with [`answer`](Self::answer), or when it is turned into a future: by `.await`, or by
/// `.into_future()` where a future is wanted, as in `join_all` and `tokio::spawn`.
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
/// use std::time::Duration;
///
/// let result = client
///     .call_tool("read_file", serde_json::json!({ "path": "a.txt" }))
///     .deadline(Duration::from_secs(20))
///     .repeatable()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "a call begins when it is awaited or turned into a future"]
pub struct Call<T = Json> {
    client: Client,
    request: Request,
    headers: HeaderMap,
    /// What makes the call unfit to be sent.
    fault: Option<String>,
    reporter: Option<Reporter>,
    listener: Option<(Steps, Listener)>,
    read: Reader<T>,
}

type Listener = Box<dyn FnMut(Progress) + Send>;
/// How a result is read.
pub(super) type Reader<T> = fn(Json) -> Result<T, serde_json::Error>;

impl<T> Call<T> {
    pub(super) fn new(client: Client, method: Arc<str>, params: Params, read: Reader<T>) -> Self {
        let request = Request { method, params: params.0, options: CallOptions::default() };
        let headers = HeaderMap::new();
        Self { client, request, headers, fault: None, reporter: None, listener: None, read }
    }

    /// A call that cannot be sent, for this reason.
    pub(super) fn unfit(mut self, fault: String) -> Self {
        self.fault.get_or_insert(fault);
        self
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

    /// Asks the server for progress, and gives the call more time with each, under an absolute cap.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// use std::time::Duration;
    /// use ridethrough::Extension;
    ///
    /// let minute = Duration::from_secs(60);
    /// let while_it_moves = Extension { by: minute, cap: 60 * minute };
    /// let built = client
    ///     .call_tool("build", ())
    ///     .deadline(minute)
    ///     .extended_by_progress(while_it_moves)
    ///     .on_progress(|step| println!("{step}"))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub const fn extended_by_progress(mut self, extension: Extension) -> Self {
        self.request.options.progress = true;
        self.request.options.extension = Some(extension);
        self
    }

    /// A header for this call alone: it goes out with each send and each resume of it, in place of
    /// the client's own of that name, and with nothing else. Its value is never printed.
    ///
    /// One that cannot be sent, or that the client writes itself, ends the call with
    /// [`Kind::Config`] before anything is sent.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// let report = client.call_tool("report", ()).header("x-tenant", "blue").await?;
    /// # Ok(()) }
    /// ```
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        match checked_header(name.as_ref(), value.as_ref()) {
            Ok((name, value)) => drop(self.headers.append(name, value)),
            Err(fault) => drop(self.fault.get_or_insert(fault)),
        }
        self
    }

    /// Asks the server for progress and hands it over as it comes.
    ///
    /// The listener runs where the call is awaited. If it is slow, the oldest progress is skipped;
    /// progress that does not increase is never handed over.
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        let (reporter, steps) = progress();
        self.request.options.progress = true;
        self.reporter = Some(reporter);
        self.listener = Some((steps, Box::new(listener)));
        self
    }

    /// Asks the server for progress and gives it as a stream, which ends with the call. It takes the
    /// place of a listener.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// let (call, mut progress) = client.call_tool("build", ()).with_progress();
    /// let watching = async {
    ///     while let Some(step) = progress.next().await {
    ///         println!("{step}");
    ///     }
    /// };
    /// let (result, ()) = tokio::join!(call.into_future(), watching);
    /// # Ok(()) }
    /// ```
    pub fn with_progress(mut self) -> (Self, ProgressStream) {
        let (reporter, steps) = progress();
        self.request.options.progress = true;
        self.reporter = Some(reporter);
        self.listener = None;
        (self, ProgressStream::new(steps))
    }

    /// Waits for the answer, be it a result or an error of the server's.
    pub fn answer(self) -> Pending {
        let Self { client, mut request, headers, fault, reporter, listener, .. } = self;
        let (reply, outcome) = oneshot::channel();
        let caller = Caller { number: client.next_call(), reply, progress: reporter };
        let method = request.method.clone();
        let pending = Pending::new(client.clone(), method, caller.number, outcome, listener);
        request.options.headers = headers.into();
        match fault {
            Some(fault) => refuse(caller, &request, fault),
            None => client.wish(Wish::Send { caller, request }),
        }
        pending
    }

    /// Reads the result as a type of your own.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// #[derive(serde::Deserialize)]
    /// struct Clock {
    ///     hour: u8,
    /// }
    ///
    /// let clock: Clock = client.request("acme/time", ()).typed().await?;
    /// # Ok(()) }
    /// ```
    pub fn typed<U: DeserializeOwned>(self) -> Call<U> {
        let Self { client, request, headers, fault, reporter, listener, .. } = self;
        let read = |result: Json| serde_json::from_slice(result.as_bytes());
        Call { client, request, headers, fault, reporter, listener, read }
    }
}

impl<T> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = PendingResult<T>;

    fn into_future(self) -> PendingResult<T> {
        let read = self.read;
        PendingResult { pending: self.answer(), read }
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("request", &self.request)
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

/// Ends a call that cannot be sent, without asking anybody.
fn refuse(caller: Caller, request: &Request, fault: String) {
    let name = || request.params.as_ref()?.member("name")?.read::<String>();
    let is_tool = &*request.method == "tools/call";
    let tool = is_tool.then(name).flatten().map(Arc::from);
    let call = CallName { method: request.method.clone(), tool };
    let reason = Reason::Config(fault.into());
    let error = CallError::new(Kind::Config, Delivery::NotSent, call, reason);
    // Whoever asked may be gone, and then does not want to know.
    let _ = caller.reply.send(Err(error));
}

/// A call that waits for its answer. Dropping it cancels the call.
#[must_use = "dropping a call cancels it"]
pub struct Pending {
    client: Client,
    method: Arc<str>,
    number: CallNumber,
    outcome: oneshot::Receiver<Outcome>,
    listener: Option<(Steps, Listener)>,
    has_ended: bool,
}

impl Pending {
    pub(super) const fn new(
        client: Client,
        method: Arc<str>,
        number: CallNumber,
        outcome: oneshot::Receiver<Outcome>,
        listener: Option<(Steps, Listener)>,
    ) -> Self {
        Self { client, method, number, outcome, listener, has_ended: false }
    }
}

impl Future for Pending {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Looked at first: all progress before it is there by then, and is handed over before it.
        let outcome = Pin::new(&mut self.outcome).poll(context);
        self.has_ended = outcome.is_ready();
        if let Some((steps, listener)) = &mut self.listener {
            while let Poll::Ready(Some(step)) = steps.poll_next(context) {
                if let Ok(step) = model::read(step) {
                    listener(step);
                }
            }
        }
        let outcome = std::task::ready!(outcome);
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
#[must_use = "dropping a call cancels it"]
pub struct PendingResult<T = Json> {
    pending: Pending,
    read: Reader<T>,
}

impl<T> Future for PendingResult<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = std::task::ready!(Pin::new(&mut self.pending).poll(context));
        Poll::Ready(result(outcome).and_then(|result| {
            // A clone of the text shares its bytes.
            (self.read)(result.clone()).map_err(|source| {
                let method = self.pending.method.clone();
                Error::Answer { method, result, source: source.into() }
            })
        }))
    }
}

impl<T> fmt::Debug for PendingResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pending.fmt(f)
    }
}
