//! One request of a check, and the visit that it belongs to.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use ridethrough::machine::session::SessionId;
use ridethrough::probe::Question;
use ridethrough::server::Version;
use serde_json::{Value, json};

use crate::seen::AnswerSeen;

/// A session that we opened, or the lack of one.
#[derive(Clone, Default)]
pub(crate) struct Visit {
    pub(crate) session: Option<SessionId>,
    pub(crate) version: String,
}

/// One request of the check.
pub(crate) struct Ask {
    pub(crate) question: Question,
    /// The name of the request, for people.
    pub(crate) what: String,
    pub(crate) id: u64,
    pub(crate) bytes: usize,
    /// How long a stream is watched; `None` means until it has answered.
    pub(crate) watch: Option<Duration>,
    pub(crate) stops_at_answer: bool,
}

impl Visit {
    /// Returns the session that an answer to `initialize` opened, whether or not it can be used.
    pub(crate) fn opened_by(seen: &AnswerSeen) -> Self {
        let session = seen.header("mcp-session-id").and_then(SessionId::new);
        Self { session, version: seen.version().unwrap_or_default() }
    }

    /// Whether no handshake was needed.
    pub(crate) fn is_stateless(&self) -> bool {
        Version::parse(&self.version).is_some_and(|it| !it.era().has_sessions())
    }
}

impl Ask {
    pub(crate) fn post(what: &str, id: u64, message: &Value) -> Self {
        let body = Bytes::from(message.to_string());
        let ask = Self::new(Method::POST, what, id, body);
        ask.header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
    }

    fn new(method: Method, what: &str, id: u64, body: Bytes) -> Self {
        let what = format!("{method} {what}").trim_end().to_owned();
        let question = Question::of(method, body);
        Self { question, what, id, bytes: LARGEST, watch: None, stops_at_answer: true }
    }

    /// Makes a notification.
    pub(crate) fn notification(method: &str) -> Self {
        Self::post(method, 0, &json!({"jsonrpc": "2.0", "method": method}))
    }

    /// Makes a GET for an event stream, watched for this long.
    pub(crate) fn listen(time: Duration) -> Self {
        let ask = Self::new(Method::GET, "", 0, Bytes::new());
        Self { watch: Some(time), stops_at_answer: false, ..ask }
            .header("accept", "text/event-stream")
    }

    /// Makes a GET that resumes a stream after this event, to get the answer to this request.
    pub(crate) fn resume(event: &str, id: u64, time: Duration) -> Self {
        let ask = Self { stops_at_answer: true, id, ..Self::listen(time) };
        ask.header("last-event-id", event)
    }

    pub(crate) fn delete() -> Self {
        Self::new(Method::DELETE, "", 0, Bytes::new())
    }

    /// Adds the session of this visit and its revision.
    pub(crate) fn of(mut self, visit: &Visit) -> Self {
        if let Some(session) = &visit.session {
            self = self.header("mcp-session-id", session.as_str());
        }
        if visit.version.is_empty() {
            self
        } else {
            self.header("mcp-protocol-version", &visit.version)
        }
    }

    /// Adds a header. A value that HTTP cannot carry is left out: the server gave it.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            self.question.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// Watches the stream for this long, unless it is answered before.
    pub(crate) fn watched(mut self, time: Duration) -> Self {
        self.watch = Some(time);
        self
    }

    /// Allows an answer of this size.
    pub(crate) fn at_most(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

/// The most bytes of an answer that is not a list of tools.
const LARGEST: usize = 1 << 20;
