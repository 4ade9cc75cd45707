//! Asks a server one thing at a time, on a connection that is kept as long as the server keeps it.
//!
//! Every question has an end: its own patience, and the time of the whole check. Whatever is asked
//! here may be asked twice without harm, and `tools/call` cannot be asked at all.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use ridethrough::machine::session::SessionId;
use ridethrough::probe::{Line, Probe, Question};
use ridethrough::server::Version;
use ridethrough::transport::{Cause, Failure};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::seen::{AnswerSeen, Bounds, ReadEnd};
use crate::talk::safe;
use crate::talk::terminal::Terminal;

/// The way to the server.
pub(super) struct Wire {
    pub(super) probe: Rc<Probe>,
    terminal: Rc<Terminal>,
    /// Whether the server sees a token of ours.
    pub(super) has_token: bool,
    /// Tell every question.
    is_telling: bool,
    /// When the time for questions is over.
    ends: Instant,
    /// When the time of the check is over; what is left of it then is for goodbyes.
    last: Instant,
    line: Option<Line>,
    /// The path to ask, if the server sent us there.
    pub(super) target: Option<String>,
    next_id: Rc<Cell<u64>>,
    /// How many connections the server closed between questions.
    pub(super) closed: u32,
    /// How many had to be closed because a stream went on after its answer.
    pub(super) lingering: u32,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Miss {
    Failed(Failure),
    /// The time of the whole check was over.
    Late,
    /// Nothing came in the time of one question.
    Silent,
}

/// A session that we opened, or the lack of one.
#[derive(Clone, Default)]
pub(super) struct Visit {
    pub(super) session: Option<SessionId>,
    pub(super) version: String,
}

/// Something to ask.
pub(super) struct Ask {
    question: Question,
    /// The name of it, for people.
    what: String,
    pub(super) id: u64,
    bytes: usize,
    /// How long a stream is watched; if there is no such time, until it has answered.
    watch: Option<Duration>,
    stops_at_answer: bool,
}

impl Visit {
    /// Whether it needed no handshake.
    pub(super) fn is_stateless(&self) -> bool {
        Version::parse(&self.version).is_some_and(|it| !it.era().has_sessions())
    }
}

impl Wire {
    /// A way for so long.
    pub(super) fn new(probe: Probe, terminal: Rc<Terminal>, time: Duration) -> Self {
        let last = Instant::now() + time;
        Self {
            has_token: false,
            probe: Rc::new(probe),
            terminal,
            is_telling: false,
            ends: last - kept_for_goodbye(time),
            last,
            line: None,
            target: None,
            next_id: Rc::new(Cell::new(1)),
            closed: 0,
            lingering: 0,
        }
    }

    /// Tells every question, or does not.
    pub(super) fn telling(self, is_telling: bool) -> Self {
        Self { is_telling, ..self }
    }

    /// What the probe shows to the server: headers by their names.
    pub(super) fn showing(self, shown: &[(&str, &str)]) -> Self {
        let has_token = shown.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        Self { has_token, ..self }
    }

    /// Whether the time for questions is over.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.ends
    }

    /// How much of the time for questions is left.
    pub(super) fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// Another way to the same server, with connections of its own.
    pub(super) fn beside(&self) -> Self {
        Self {
            probe: self.probe.clone(),
            terminal: self.terminal.clone(),
            next_id: self.next_id.clone(),
            target: self.target.clone(),
            line: None,
            closed: 0,
            lingering: 0,
            ..*self
        }
    }

    /// A request; `tools/call` is none that is made here.
    pub(super) fn request(&self, method: &str, params: Value) -> Ask {
        assert!(method != "tools/call", "a check never calls a tool");
        let id = self.next_id.replace(self.next_id.get() + 1);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        Ask::post(method, id, &message)
    }

    /// A request of this visit, in the form of its era.
    pub(super) fn request_of(&self, visit: &Visit, method: &str, params: Value) -> Ask {
        if visit.is_stateless() {
            self.stateless(method, params)
        } else {
            self.request(method, params).of(visit)
        }
    }

    /// A request that says itself who asks, and in which revision.
    pub(super) fn stateless(&self, method: &str, params: Value) -> Ask {
        let modern = Version::V2026_07_28.as_str();
        let mut params = if params.is_null() { json!({}) } else { params };
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": modern,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": us(),
        });
        let ask = self.request(method, params);
        ask.header("mcp-protocol-version", modern).header("mcp-method", method)
    }

    /// `initialize` for this revision.
    pub(super) fn initialize(&self, version: &str) -> Ask {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": us()});
        self.request("initialize", params)
    }

    /// Makes the connection, if there is none.
    pub(super) async fn connect(&mut self) -> Result<&Line, Miss> {
        if self.line.is_none() {
            let made = timeout_at(self.ends, self.probe.connect()).await;
            self.line = Some(made.map_err(|_| Miss::Late)?.map_err(Miss::Failed)?);
        }
        self.line.as_ref().ok_or(Miss::Late)
    }

    /// Asks on the connection that there is, or on a new one.
    pub(super) async fn ask(&mut self, ask: Ask) -> Result<AnswerSeen, Miss> {
        let what = ask.what.clone();
        let seen = self.ask_again(ask).await;
        if self.is_telling {
            let told = match &seen {
                Ok(seen) => format!("{what}: {} in {}", seen.words(), millis(seen.took)),
                Err(miss) => format!("{what}: {miss}"),
            };
            self.terminal.say(&safe::our_line(&told));
        }
        seen
    }

    async fn ask_again(&mut self, ask: Ask) -> Result<AnswerSeen, Miss> {
        let is_kept = self.settle().await;
        let seen = self.ask_once(&ask).await;
        match seen {
            // The server closed a connection that rested: nobody is to blame, and nothing is lost.
            Err(Miss::Failed(failure)) if is_kept && is_broken(&failure) => {
                self.closed += 1;
                self.ask_once(&ask).await
            }
            seen => seen,
        }
    }

    async fn ask_once(&mut self, ask: &Ask) -> Result<AnswerSeen, Miss> {
        // A question that nobody waits for must not be sent either.
        if self.is_over() {
            return Err(Miss::Late);
        }
        self.connect().await?;
        let Some(mut line) = self.line.take() else { return Err(Miss::Late) };
        let began = Instant::now();
        let until = self.ends.min(began + PATIENCE);
        let mut question = ask.question.clone();
        question.target = self.target.clone();
        let found = match timeout_at(until, line.ask(question)).await {
            Err(_) if until == self.ends => return Err(Miss::Late),
            Err(_) => return Err(Miss::Silent),
            Ok(found) => found.map_err(Miss::Failed)?,
        };
        let watched = ask.watch.map_or(until, |time| self.ends.min(Instant::now() + time));
        let bounds =
            Bounds { bytes: ask.bytes, until: watched, stops_at_answer: ask.stops_at_answer };
        let seen = AnswerSeen::read(found, ask.id, began, bounds).await;
        // On HTTP/1.1 what is still open, or was left alone, is in the way of the next question.
        let is_free = line.is_http2() && !matches!(seen.end, ReadEnd::Broken(_));
        if seen.end == ReadEnd::Ended || is_free {
            self.line = Some(line);
        } else if seen.end == ReadEnd::Open && seen.answer.is_some() {
            self.lingering += 1;
        }
        Ok(seen)
    }

    /// Whether the connection can be used again. One that the server closed is let go.
    async fn settle(&mut self) -> bool {
        let Some(line) = &mut self.line else { return false };
        let until = self.ends.min(Instant::now() + SETTLING);
        let is_ready = timeout_at(until, line.is_ready()).await.unwrap_or(false);
        if !is_ready {
            self.line = None;
            self.closed += 1;
        }
        is_ready
    }

    /// Lets go of the connection.
    pub(super) fn hang_up(&mut self) {
        self.line = None;
    }

    /// Gives a session back, if the server issued one, also when the time for questions is over. The
    /// server has no say in how long that takes.
    pub(super) async fn give_back(&mut self, visit: &Visit) {
        if visit.session.is_some() {
            let goodbye = self.last.min(Instant::now() + GOODBYE);
            let ends = std::mem::replace(&mut self.ends, goodbye);
            // Whoever cannot be told will notice: sessions expire.
            let _ = self.ask(Ask::delete().of(visit)).await;
            self.ends = ends;
        }
    }
}

impl Ask {
    fn post(what: &str, id: u64, message: &Value) -> Self {
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

    /// A notification.
    pub(super) fn notification(method: &str) -> Self {
        Self::post(method, 0, &json!({"jsonrpc": "2.0", "method": method}))
    }

    /// A GET for an event stream, watched for this long.
    pub(super) fn listen(time: Duration) -> Self {
        let ask = Self::new(Method::GET, "", 0, Bytes::new());
        Self { watch: Some(time), stops_at_answer: false, ..ask }
            .header("accept", "text/event-stream")
    }

    /// A GET that resumes a stream after this event, in which the answer to this request is missing.
    pub(super) fn resume(event: &str, id: u64, time: Duration) -> Self {
        let ask = Self { stops_at_answer: true, id, ..Self::listen(time) };
        ask.header("last-event-id", event)
    }

    pub(super) fn delete() -> Self {
        Self::new(Method::DELETE, "", 0, Bytes::new())
    }

    /// In this session, and with its revision.
    pub(super) fn of(mut self, visit: &Visit) -> Self {
        if let Some(session) = &visit.session {
            self = self.header("mcp-session-id", session.as_str());
        }
        if visit.version.is_empty() {
            self
        } else {
            self.header("mcp-protocol-version", &visit.version)
        }
    }

    /// With this header. One that HTTP cannot carry is left out: it was the server's to give.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            self.question.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// Watched for this long, unless it is answered before.
    pub(super) fn watched(mut self, time: Duration) -> Self {
        self.watch = Some(time);
        self
    }

    /// With room for an answer of this size.
    pub(super) fn at_most(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => failure.fmt(f),
            Self::Late => f.write_str("the time of the check was over"),
            Self::Silent => write!(f, "no answer came within {} s", PATIENCE.as_secs()),
        }
    }
}

/// Whether a kept connection can have failed so because it had been closed.
fn is_broken(failure: &Failure) -> bool {
    matches!(failure.cause, Cause::Closed | Cause::Reset | Cause::StreamRefused)
}

/// Who asks.
fn us() -> Value {
    json!({"name": "ridethrough-check", "version": env!("CARGO_PKG_VERSION")})
}

/// What is kept of the time of a check for goodbyes.
pub(super) fn kept_for_goodbye(time: Duration) -> Duration {
    RESERVE.min(time / 4)
}

/// A time as people read it.
pub(super) fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take until a connection is ready again after an answer, or known to be closed.
const SETTLING: Duration = Duration::from_secs(2);
/// How long the end of a session may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// What is kept of the time of a check for that, at most.
const RESERVE: Duration = Duration::from_secs(1);
/// More than any answer needs that is not a list of tools.
const LARGEST: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_goodbye_ends_with_the_time_of_the_check() {
        // It takes connections, and never answers.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", silent.local_addr().unwrap());
        let probe = ridethrough::Client::builder(url.as_str()).probe().unwrap();
        let mut wire = Wire::new(probe, Rc::new(Terminal::new()), Duration::from_millis(200));
        let began = Instant::now();
        let visit = Visit { session: SessionId::new("a"), version: String::new() };

        wire.give_back(&visit).await;

        assert!(began.elapsed() <= Duration::from_millis(201), "{:?}", began.elapsed());
    }
}
