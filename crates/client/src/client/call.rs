//! One call: how it is to be treated, and the wait for its outcome.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use ridethrough_core::message::Json;
use ridethrough_core::{
    CallError, CallName, CallOptions, Delivery, Extension, Kind, Reason, ReplayRule, Request,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::meta::with_meta;
use super::pending::Listener;
use super::task::{Plan, TaskCall, Time};
use super::{Client, Params, Pending, PendingResult, PendingSourced, ProgressStream};
use crate::driver::{Accepts, Caller, DriverCommand, ProgressReader, Reporter, Track, progress};
use crate::error::Error;
use crate::http::checked_header;
use crate::model::Progress;

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
///     .timeout(Duration::from_secs(20))
///     .idempotent()
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
    listener: Option<(ProgressReader, Listener)>,
    accepts: Accepts,
    track: Option<Track>,
    read: ReadResult<T>,
}

/// How a result is read.
pub(super) type ReadResult<T> = fn(Json) -> Result<T, serde_json::Error>;

impl<T> Call<T> {
    pub(super) fn new(
        client: Client,
        method: Arc<str>,
        params: Params,
        read: ReadResult<T>,
    ) -> Self {
        let request = Request { method, params: params.0, options: CallOptions::default() };
        Self {
            client,
            request,
            headers: HeaderMap::new(),
            fault: None,
            reporter: None,
            listener: None,
            accepts: Accepts::default(),
            track: None,
            read,
        }
    }

    /// A call that cannot be sent, for this reason.
    pub(super) fn unfit(mut self, fault: String) -> Self {
        self.fault.get_or_insert(fault);
        self
    }

    /// The call's own time, in all: waits, repeats and resumes included. Without it, that of the
    /// policy: 10 minutes for `tools/call`, 60 s for every other method.
    pub const fn timeout(mut self, time: Duration) -> Self {
        self.request.options.deadline = Some(time);
        self
    }

    /// A second run does no harm: the call may be sent again when it is in doubt.
    pub const fn idempotent(mut self) -> Self {
        self.request.options.replay = ReplayRule::Repeatable;
        self
    }

    /// Asks the server, whatever of it was kept: see [`Cache`](crate::policy::Cache).
    pub const fn fresh(mut self) -> Self {
        self.accepts = Accepts::Fresh;
        self
    }

    /// Leaves what a stateless server asks for before it can answer (`input_required`) to the caller: it is
    /// given as the result that it is, and the caller's next call carries `inputResponses` and
    /// `requestState`. For whoever stands between the server and a client that does this by itself; without
    /// it, handlers and the [`Inbox`](crate::event::Inbox) are asked.
    pub const fn passing_input(mut self) -> Self {
        self.request.options.passes_input = true;
        self
    }

    /// Says which exchange the call will be, so that a question of the server's can be told to be about it.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// use ridethrough::event::Delivered;
    ///
    /// let mut inbox = client.inbox();
    /// let (call, track) = client.request("tools/call", serde_json::json!({ "name": "a" })).tracked();
    /// let answer = call.answer();
    /// if let Some(Delivered::Question { exchange: Some(exchange), .. }) = inbox.next().await {
    ///     println!("asked by this call: {}", track.exchange() == Some(exchange));
    /// }
    /// # drop(answer);
    /// # Ok(()) }
    /// ```
    pub fn tracked(mut self) -> (Self, Track) {
        let track = Track::default();
        self.track = Some(track.clone());
        (self, track)
    }

    /// Asks the server for progress, and gives the call more time with each, under an absolute cap.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// use std::time::Duration;
    /// use ridethrough::call::Extension;
    ///
    /// let minute = Duration::from_secs(60);
    /// let while_it_moves = Extension { by: minute, cap: 60 * minute };
    /// let built = client
    ///     .call_tool("build", ())
    ///     .timeout(minute)
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

    /// Something for the `_meta` of the request, such as the place of this call in a trace. What the
    /// protocol keeps for the client itself cannot be said here.
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let report = client.call_tool("report", ()).meta("traceparent", parent).await?;
    /// # Ok(()) }
    /// ```
    pub fn meta(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let value = Json::of(&value).ok();
        let with = |value| with_meta(self.request.params.as_ref(), name.into(), value);
        match value.and_then(with) {
            Some(params) => {
                self.request.params = Some(params);
                self
            }
            None => self.unfit("`meta` needs JSON, and params that are an object".to_owned()),
        }
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

    /// Lets the server make a task of it, where the server and the tool can, and gives the task instead
    /// of its result. Only for [`call_tool`](Client::call_tool); see [`ClientBuilder::tasks`].
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// use ridethrough::task::Begun;
    ///
    /// match client.call_tool("build", ()).as_task().await? {
    ///     Begun::Answered(result) => println!("at once: {}", result.text()),
    ///     Begun::Task(task) => {
    ///         println!("{:?}", task.status().await?.status);
    ///         println!("{}", task.result().await?.text());
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// [`ClientBuilder::tasks`]: crate::ClientBuilder::tasks
    pub const fn as_task(self) -> TaskCall<T> {
        TaskCall::new(self)
    }

    /// Waits for the answer, be it a result or an error of the server's. A task is given as the answer
    /// that it is, and not followed.
    pub fn answer(self) -> Pending {
        let Self {
            client, mut request, headers, fault, reporter, listener, accepts, track, ..
        } = self;
        let (reply, outcome) = oneshot::channel();
        let caller = Caller { number: client.next_call(), reply, progress: reporter, track };
        let method = request.method.clone();
        let pending = Pending::new(client.clone(), method, caller.number, outcome, listener);
        request.options.headers = headers.into();
        match fault {
            Some(fault) => refuse(caller, &request, fault),
            None => client.command(DriverCommand::Send { caller, request, accepts }),
        }
        pending
    }

    /// Waits for the result, and says where it comes from: from the server, or from what was kept.
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
        PendingSourced::new(self.into_future())
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
        let Self { client, request, headers, fault, reporter, listener, accepts, track, .. } = self;
        let read = |result: Json| serde_json::from_slice(result.as_bytes());
        Call { client, request, headers, fault, reporter, listener, accepts, track, read }
    }
}

/// What tasks need of a call.
impl<T> Call<T> {
    /// How to follow the task that the server may make of it, if it may.
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

    pub(super) const fn is_unfit(&self) -> bool {
        self.fault.is_some()
    }

    pub(super) const fn reader(&self) -> ReadResult<T> {
        self.read
    }

    pub(super) const fn params(&mut self) -> &mut Option<Json> {
        &mut self.request.params
    }

    pub(super) fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
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

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("request", &self.request)
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

/// What is asked, for messages to people.
fn name_of(request: &Request) -> CallName {
    let name = || request.params.as_ref()?.member("name")?.read::<String>();
    let is_tool = &*request.method == TOOLS_CALL;
    let tool = is_tool.then(name).flatten().map(Arc::from);
    CallName { method: request.method.clone(), tool }
}

/// Ends a call that cannot be sent, without asking anybody.
fn refuse(caller: Caller, request: &Request, fault: String) {
    let call = name_of(request);
    let reason = Reason::Config(fault.into());
    let error = CallError::new(Kind::Config, Delivery::NotSent, call, reason);
    // Whoever asked may be gone, and then does not want to know.
    let _ = caller.reply.send(Err(error).into());
}

const TOOLS_CALL: &str = "tools/call";
