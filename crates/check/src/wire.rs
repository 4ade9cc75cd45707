//! Sends a server one request at a time, on a connection that is kept as long as the server keeps it.
//!
//! Every request has a limit: its own patience, and the time of the whole check. Whatever is sent here may be
//! sent twice without harm, and `tools/call` cannot be sent at all.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use ridethrough::probe::{Line, Probe};
use ridethrough::server::Version;
use ridethrough::transport::{Cause, Failure};
use ridethrough_terminal::safe;
use ridethrough_terminal::stderr::Terminal;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::question::{Ask, Visit};
use crate::seen::{AnswerSeen, Bounds, ReadEnd};

/// The connection of a check to its server, and the time that is left.
pub struct Wire {
    pub(crate) probe: Rc<Probe>,
    terminal: Rc<Terminal>,
    /// Whether a token of ours is sent to the server.
    pub has_token: bool,
    /// Whether every request is shown to the person.
    is_telling: bool,
    /// When the time for requests is over.
    ends: Instant,
    /// When the time of the check is over; the time in between is for ending sessions.
    last: Instant,
    line: Option<Line>,
    /// The path to ask, if the server redirected us there.
    pub(crate) target: Option<String>,
    next_id: Rc<Cell<u64>>,
    /// How many connections the server closed between requests.
    pub(crate) closed: u32,
    /// How many connections we closed because a stream went on after its answer.
    pub(crate) lingering: u32,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(crate) enum Miss {
    Failed(Failure),
    /// The time of the whole check was over.
    Late,
    /// No answer came in the time of one request.
    Silent,
}

impl Wire {
    /// Makes a wire that may be used for this time.
    pub fn new(probe: Probe, terminal: Rc<Terminal>, time: Duration) -> Self {
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

    /// Sets whether every request is shown to the person.
    pub fn telling(self, is_telling: bool) -> Self {
        Self { is_telling, ..self }
    }

    /// Names the headers that the probe sends to the server.
    pub fn showing(self, shown: &[(&str, &str)]) -> Self {
        let has_token = shown.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        Self { has_token, ..self }
    }

    /// Whether the time for requests is over.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.ends
    }

    /// Returns how much of the time for requests is left.
    pub(crate) fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// Returns another wire to this server, with connections of its own.
    pub(crate) fn beside(&self) -> Self {
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

    /// Makes a request; `tools/call` cannot be made here.
    pub(crate) fn request(&self, method: &str, params: Value) -> Ask {
        assert!(method != "tools/call", "a check never calls a tool");
        let id = self.next_id.replace(self.next_id.get() + 1);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        Ask::post(method, id, &message)
    }

    /// Makes a request of this visit, in the form of its era.
    pub(crate) fn request_of(&self, visit: &Visit, method: &str, params: Value) -> Ask {
        if visit.is_stateless() {
            self.stateless(method, params)
        } else {
            self.request(method, params).of(visit)
        }
    }

    /// Makes a stateless request, which itself says who asks and in which revision.
    pub(crate) fn stateless(&self, method: &str, params: Value) -> Ask {
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

    /// Makes an `initialize` request for this revision.
    pub(crate) fn initialize(&self, version: &str) -> Ask {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": us()});
        self.request("initialize", params)
    }

    /// Connects, if there is no connection.
    pub(crate) async fn connect(&mut self) -> Result<&Line, Miss> {
        if self.line.is_none() {
            let made = timeout_at(self.ends, self.probe.connect()).await;
            self.line = Some(made.map_err(|_| Miss::Late)?.map_err(Miss::Failed)?);
        }
        self.line.as_ref().ok_or(Miss::Late)
    }

    /// Sends a request on the present connection, or on a new one.
    pub(crate) async fn ask(&mut self, ask: Ask) -> Result<AnswerSeen, Miss> {
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
            // The server closed an idle connection, which it may do; the request was not answered and can be
            // repeated.
            Err(Miss::Failed(failure)) if is_kept && is_broken(&failure) => {
                self.closed += 1;
                self.ask_once(&ask).await
            }
            seen => seen,
        }
    }

    async fn ask_once(&mut self, ask: &Ask) -> Result<AnswerSeen, Miss> {
        // After the time is over, a request is not sent either.
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
        // On HTTP/1.1 a response that was not read to its end blocks the next request.
        let is_free = line.is_http2() && !matches!(seen.end, ReadEnd::Broken(_));
        if seen.end == ReadEnd::Ended || is_free {
            self.line = Some(line);
        } else if seen.end == ReadEnd::Open && seen.answer.is_some() {
            self.lingering += 1;
        }
        Ok(seen)
    }

    /// Whether the connection can be used again. A connection that the server closed is dropped.
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

    /// Drops the connection.
    pub(crate) fn hang_up(&mut self) {
        self.line = None;
    }

    /// Ends a session, if the server issued one, even when the time for requests is over. The server cannot
    /// make that take longer.
    pub(crate) async fn give_back(&mut self, visit: &Visit) {
        if visit.session.is_some() {
            let goodbye = self.last.min(Instant::now() + GOODBYE);
            let ends = std::mem::replace(&mut self.ends, goodbye);
            // A server that cannot be told lets the session expire.
            let _ = self.ask(Ask::delete().of(visit)).await;
            self.ends = ends;
        }
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

/// Whether a kept connection can have failed like this because the server had closed it.
fn is_broken(failure: &Failure) -> bool {
    matches!(failure.cause, Cause::Closed | Cause::Reset | Cause::StreamRefused)
}

/// Returns who we are, for `clientInfo`.
fn us() -> Value {
    json!({"name": "ridethrough-check", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns how much of the time of a check is kept for ending sessions.
pub(crate) fn kept_for_goodbye(time: Duration) -> Duration {
    RESERVE.min(time / 4)
}

/// Returns a time in words.
pub(crate) fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// How long a stream is watched.
pub(crate) const WATCH: Duration = Duration::from_secs(1);
/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take after an answer until a connection is known to be ready or closed.
const SETTLING: Duration = Duration::from_secs(2);
/// How long the end of a session may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// The most of a check's time that is kept for ending sessions.
const RESERVE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use ridethrough::machine::session::SessionId;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_goodbye_ends_with_the_time_of_the_check() {
        // This server accepts connections, and never answers.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", silent.local_addr().unwrap());
        let probe = ridethrough::Client::builder(url.as_str()).probe().unwrap();
        let mut wire = Wire::new(probe, Rc::new(Terminal::default()), Duration::from_millis(200));
        let began = Instant::now();
        let visit = Visit { session: SessionId::new("a"), version: String::new() };

        wire.give_back(&visit).await;

        assert!(began.elapsed() <= Duration::from_millis(201), "{:?}", began.elapsed());
    }
}
