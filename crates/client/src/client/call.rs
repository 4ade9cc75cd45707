//! One call: its options, and how it is begun.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use ridethrough_core::{
    CallError, CallName, CallOptions, Delivery, Extension, Kind, Reason, ReplayRule, Request,
};
use ridethrough_transport::checked_header;
use ridethrough_wire::message::Json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::pending::Listener;
use super::{Client, Params, Pending, ProgressStream, ReadResult};
use crate::driver::{Accepts, Caller, DriverCommand, ProgressReader, Reporter, Track, progress};
use crate::model::Progress;

/// A call that has not begun. Await it for its result, or set its options first.
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
    pub(super) client: Client,
    pub(super) request: Request,
    pub(super) headers: HeaderMap,
    /// Why the call cannot be sent, if so.
    pub(super) fault: Option<String>,
    reporter: Option<Reporter>,
    listener: Option<(ProgressReader, Listener)>,
    accepts: Accepts,
    track: Option<Track>,
    pub(super) read: ReadResult<T>,
}

impl<T> Call<T> {
    pub(crate) fn new(
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

    /// Marks a call that cannot be sent, with the reason.
    pub(super) fn unfit(mut self, fault: String) -> Self {
        self.fault.get_or_insert(fault);
        self
    }

    /// Sets the time that the call may take in all, with waits, repeats and resumes. The default is the
    /// policy's: 10 minutes for `tools/call`, 60 s for every other method.
    pub const fn timeout(mut self, time: Duration) -> Self {
        self.request.options.deadline = Some(time);
        self
    }

    /// Declares that a second run does no harm, so that the call may be sent again when it is in doubt.
    pub const fn idempotent(mut self) -> Self {
        self.request.options.replay = ReplayRule::Repeatable;
        self
    }

    /// Declares that a second run may do harm, whatever the tool says of itself, so that the call is never sent again
    /// when it is in doubt.
    pub const fn once(mut self) -> Self {
        self.request.options.replay = ReplayRule::Once;
        self
    }

    /// Asks the server even if a kept result could answer: see [`Cache`](crate::policy::Cache).
    pub const fn fresh(mut self) -> Self {
        self.accepts = Accepts::Fresh;
        self
    }

    /// Makes a stateless server's request for input (`input_required`) the result of the call, and any other
    /// type of result that only the caller knows. The caller's next call carries `inputResponses` and
    /// `requestState`. This is for programs between the
    /// server and a client that handles such requests itself; by default, handlers and the
    /// [`Inbox`](crate::event::Inbox) are asked.
    pub const fn passing_input(mut self) -> Self {
        self.request.options.passes_input = true;
        self
    }

    /// Leaves the headers that describe a stateless request, `Mcp-Name` and `Mcp-Param-...`, to the caller, who
    /// adds them with [`header`](Self::header). A server's error about them is the answer of the call. This is
    /// for programs that speak for a client that writes these headers itself; by default, the client does.
    pub const fn own_routing_headers(mut self) -> Self {
        self.request.options.own_routing_headers = true;
        self
    }

    /// Sets the capabilities that a stateless server sees with this request, in place of the client's. This is
    /// for programs that speak for many clients, each of which can do something else; a server with sessions
    /// knows the client's capabilities only.
    pub fn capabilities(mut self, capabilities: Json) -> Self {
        self.request.options.capabilities = Some(capabilities);
        self
    }

    /// Returns a [`Track`] that names the call's exchange, so that a question of the server can be matched
    /// with the call.
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

    /// Asks the server for progress, and extends the call's deadline with each, up to a cap.
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

    /// Adds a header to every request of this call, including resends and resumes. It replaces the client's
    /// header of that name. Its value is never printed.
    ///
    /// A header that cannot be sent, or that the client sets itself, ends the call with [`Kind::Config`]
    /// before anything is sent.
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

    /// Adds a member to the `_meta` of the request, such as the call's place in a trace. Members that the
    /// protocol reserves for the client cannot be set.
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

    /// Asks the server for progress and passes it to `listener` as it arrives.
    ///
    /// The listener runs where the call is awaited. If it is slow, the oldest progress is skipped; progress
    /// that does not increase is never passed on.
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        let (reporter, steps) = progress();
        self.request.options.progress = true;
        self.reporter = Some(reporter);
        self.listener = Some((steps, Box::new(listener)));
        self
    }

    /// Asks the server for progress and returns it as a stream, which ends with the call. The stream replaces
    /// a listener.
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

    /// Sets all headers of the call at once.
    pub(super) fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Begins the call and waits for the server's answer, a result or an error. If the answer is a task, it
    /// is returned as it is and not followed.
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

    /// Reads the result as type `U`.
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

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("request", &self.request)
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

/// Returns the name of a request for error messages.
pub(super) fn name_of(request: &Request) -> CallName {
    let name = || request.params.as_ref()?.member("name")?.read::<String>();
    let is_tool = &*request.method == TOOLS_CALL;
    let tool = is_tool.then(name).flatten().map(Arc::from);
    CallName { method: request.method.clone(), tool }
}

/// Ends a call that cannot be sent, before it reaches the driver.
fn refuse(caller: Caller, request: &Request, fault: String) {
    let call = name_of(request);
    let reason = Reason::Config(fault.into());
    let error = CallError::new(Kind::Config, Delivery::NotSent, call, reason);
    // The caller may be gone, and then needs no answer.
    let _ = caller.reply.send(Err(error).into());
}

/// Returns the params with this member in their `_meta`, in place of one of that name; everything else is
/// kept. `None` if the params, or their `_meta`, are no object.
fn with_meta(params: Option<&Json>, name: String, value: Json) -> Option<Json> {
    let empty = Json::empty_object();
    let params = params.unwrap_or(&empty);
    let meta = params.member(META).unwrap_or_else(Json::empty_object);
    if !params.as_str().starts_with('{') || !meta.as_str().starts_with('{') {
        return None;
    }
    let kept = meta.members().into_iter().filter(|(key, _)| *key != name);
    let meta = Json::empty_object().with_members(kept.chain([(name.clone(), value)]));
    let rest = params.members().into_iter().filter(|(key, _)| key != META);
    Some(Json::empty_object().with_members(rest.chain([(META.to_owned(), meta)])))
}

pub(super) const TOOLS_CALL: &str = "tools/call";
const META: &str = "_meta";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_added_or_replaced_and_the_rest_stays_as_it_was() {
        for (params, expected) in [
            (None, Some(r#"{"_meta":{"a":1}}"#)),
            (Some(r#"{"n":1.10}"#), Some(r#"{"n":1.10,"_meta":{"a":1}}"#)),
            (Some(r#"{"_meta":{"b":2,"a":9}}"#), Some(r#"{"_meta":{"b":2,"a":1}}"#)),
            (Some("[1]"), None),
            (Some(r#"{"_meta":[]}"#), None),
        ] {
            let params = params.map(|it| Json::new(it).unwrap());

            let with = with_meta(params.as_ref(), "a".to_owned(), Json::new("1").unwrap());

            assert_eq!(with.as_ref().map(Json::as_str), expected);
        }
    }
}
