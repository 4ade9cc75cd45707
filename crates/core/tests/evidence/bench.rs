//! The bench: a link and the odd server. Each request is answered at once, and time is moved by hand.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ridethrough_core::head::{Challenge, Content, Redirect};
use ridethrough_core::session::SessionId;
use ridethrough_core::{
    Action, AnswerHead, AttemptId, CallOptions, Carrier, Cause, ConnectionId, Eras, ExchangeId,
    Failure, Identity, Link, Moment, NoCredentials, Outcome, Outgoing, Output, Request,
    RetryPolicy, Verb,
};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::sse;
use serde_json::{Value, json};

use crate::case::{Case, Reply};
use crate::judge::{Ended, Seen};
use crate::pool::Pool;
use crate::server::{self, Ask, ODD, Server, Speaks, TOOL, Then};

/// A link and a server.
pub(crate) struct Bench {
    link: Link,
    now: Moment,
    pub(crate) server: Server,
    ended: BTreeMap<ExchangeId, Outcome>,
    pool: Pool,
    /// The answers that are on their way.
    replies: VecDeque<Coming>,
    calls: u32,
}

/// An answer that is on its way.
struct Coming {
    attempt: AttemptId,
    reply: Reply,
    /// The connection; `None` over HTTP+SSE, where a server knows its clients by their streams.
    connection: Option<u64>,
}

impl Bench {
    /// Creates a link that has met its server, by a list or only by a handshake.
    pub(crate) fn new(eras: Eras, speaks: Speaks, case: &Case, then: Then) -> Self {
        let identity = Identity { info: Json::empty_object(), capabilities: Json::empty_object() };
        let connections = if speaks == Speaks::Replicas { 2 } else { 1 };
        let mut bench = Self {
            link: Link::new(Moment::START, eras, identity, RetryPolicy::default(), 7),
            now: Moment::START,
            server: Server::new(speaks, case.clone(), then),
            ended: BTreeMap::new(),
            pool: Pool::new(connections, case.number / 2),
            replies: VecDeque::new(),
            calls: 0,
        };
        bench.link.speak_http_sse();
        let first = match case.number % 2 {
            0 => bench.request("tools/list", None),
            _ => bench.link.connect(bench.now, None),
        };
        let met = bench.await_end(first);
        assert!(matches!(met, Some(Ended::Result(_))), "{case}: the server was not met: {met:?}");
        bench
    }

    /// Runs one case: the odd call, and calls after it until one succeeds, up to a number.
    pub(crate) fn live(
        eras: Eras,
        speaks: Speaks,
        case: &Case,
        then: Then,
        most_later: usize,
    ) -> Seen {
        let mut bench = Self::new(eras, speaks, case, then);
        let ended = bench.call(ODD);
        let later = bench.later(most_later);
        Seen::new(&bench.server, ended, later)
    }

    /// Calls the tool and waits for the end; `None` if there is none in time.
    pub(crate) fn call(&mut self, key: &str) -> Option<Ended> {
        let params = json!({"name": TOOL, "arguments": {"key": key}}).to_string();
        let id = self.request("tools/call", Some(Json::new(params).unwrap()));
        self.await_end(id)
    }

    /// Makes calls until one succeeds, `most` at the most.
    pub(crate) fn later(&mut self, most: usize) -> Vec<Result<(), String>> {
        let mut later = Vec::new();
        while later.len() < most && !later.last().is_some_and(Result::is_ok) {
            self.calls += 1;
            let key = format!("later {}", self.calls);
            later.push(match self.call(&key) {
                Some(Ended::Result(_)) => Ok(()),
                other => Err(format!("{other:?}")),
            });
            assert!(self.server.runs(&key) <= 1, "a later call ran twice");
        }
        later
    }

    fn request(&mut self, method: &str, params: Option<Json>) -> ExchangeId {
        let options = CallOptions::default();
        self.link.send(self.now, Request { method: method.into(), params, options })
    }

    fn await_end(&mut self, id: ExchangeId) -> Option<Ended> {
        let until = self.now + LIMIT;
        loop {
            self.settle();
            if let Some(outcome) = self.ended.remove(&id) {
                return Some(ended(outcome));
            }
            let (at, _) = self.link.poll_timeout().filter(|(at, _)| *at <= until)?;
            self.now = self.now.max(at);
            self.link.handle_timeout(self.now);
        }
    }

    /// Carries out everything that the link wants, until it wants nothing more.
    fn settle(&mut self) {
        loop {
            while let Some(output) = self.link.poll_output() {
                self.carry_out(output);
            }
            let Some(coming) = self.replies.pop_front() else { return };
            self.deliver(&coming);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Act(Action::Abort { attempt } | Action::Drain { attempt, .. }) => {
                self.replies.retain(|coming| coming.attempt != attempt);
            }
            Output::Act(Action::Dial { attempt }) => {
                self.link.handle_connect(self.now, attempt, Ok(()));
            }
            Output::Act(Action::RenewCredentials { rejected, .. }) => {
                self.link.handle_credentials(self.now, rejected, Err(NoCredentials::new()));
            }
            Output::Act(Action::RequestScope { .. }) => {
                self.link.handle_scope(self.now, Err(NoCredentials::new()));
            }
            Output::Act(Action::Send(request)) => self.perform(&request),
            Output::Finish { exchange, outcome, .. } => {
                let before = self.ended.insert(exchange, outcome);
                assert!(before.is_none(), "{exchange} ended twice");
            }
            _ => {}
        }
    }

    /// Gives a request to the server, if there is a connection for it.
    fn perform(&mut self, request: &Outgoing) {
        let attempt = request.attempt;
        let Some(connection) = self.pool.choose(request) else {
            let gone = Failure::not_sent(Cause::ConnectionGone);
            return self.link.handle_failure(self.now, attempt, gone);
        };
        let reply = self.server.answer(&ask(request, connection));
        let coming = match request.to.carrier {
            Carrier::HttpSse => Coming { attempt, reply: by_http_sse(reply), connection: None },
            Carrier::StreamableHttp => Coming { attempt, reply, connection: Some(connection) },
        };
        self.replies.push_back(coming);
    }

    fn deliver(&mut self, coming: &Coming) {
        let Coming { attempt, reply, connection } = coming;
        let (now, attempt, mut head) = (self.now, *attempt, head(reply));
        head.connection = connection.map(ConnectionId::new);
        if let (true, Some(connection)) = (reply.is_cut, connection) {
            self.pool.cut(*connection);
        }
        let is_stream = head.is_stream();
        self.link.handle_head(now, attempt, head);
        let broken = Failure::unknown(Cause::Reset);
        match (is_stream, reply.is_cut) {
            (true, is_cut) => {
                if let Some(event) = event(&reply.body) {
                    self.link.handle_event(now, attempt, &event);
                }
                if is_cut {
                    self.link.handle_failure(now, attempt, broken)
                } else {
                    self.link.handle_end(now, attempt)
                }
            }
            (false, true) => self.link.handle_failure(now, attempt, broken),
            (false, false) => {
                let body = Bytes::copy_from_slice(reply.body.as_bytes());
                self.link.handle_body(now, attempt, &body);
            }
        }
    }
}

fn ended(outcome: Outcome) -> Ended {
    match outcome {
        Ok(Answer::Error(error)) => Ended::Error(error.read::<Value>().unwrap()),
        Ok(Answer::Result(result)) => Ended::Result(result.read::<Value>().unwrap()),
        Err(error) => Ended::Call { may_have_run: error.may_have_run(), told: error.report() },
    }
}

/// Returns a request of the link in the server's own types.
fn ask(request: &Outgoing, connection: u64) -> Ask {
    let verb = match &request.verb {
        Verb::Delete => server::Verb::Delete,
        Verb::Get { last_event_id } => server::Verb::Get { is_resume: last_event_id.is_some() },
        Verb::Post { body } => server::Verb::Post(serde_json::from_slice(body).unwrap()),
    };
    let session = request.to.session.as_ref().map(|id| id.as_str().to_owned());
    let version = request.to.version.map(|version| version.as_str().to_owned());
    let is_old = request.to.carrier == Carrier::HttpSse;
    Ask { verb, session, version, connection, is_old }
}

/// Returns an answer over HTTP+SSE as its transport gives it: an event, wherever the server put it, and
/// without a redirect, because there is no other address than the one that the stream named.
fn by_http_sse(reply: Reply) -> Reply {
    let mut reply = reply;
    reply.headers.retain(|(name, _)| *name != "location");
    let is_answer = (200..300).contains(&reply.status) && !reply.body.is_empty();
    if is_answer && !reply.is_event_stream() {
        reply.body = format!("event: message\ndata: {}\n\n", reply.body);
        reply.content_type = Some("text/event-stream");
        reply.status = 200;
    }
    reply
}

/// Returns the head of an answer as a transport reads it.
fn head(reply: &Reply) -> AnswerHead {
    let content = match reply.content_type {
        None => Content::Nothing,
        Some("application/json") => Content::Json,
        Some("text/event-stream") => Content::EventStream,
        Some("text/html") => Content::Html,
        Some(_) => Content::Other,
    };
    let mut head = AnswerHead::new(StatusCode::from_u16(reply.status).unwrap(), content);
    for (name, value) in &reply.headers {
        match *name {
            "location" => head.redirect = Some(Redirect::SameOrigin(value.as_str().into())),
            "mcp-session-id" => head.session = SessionId::new(value),
            "retry-after" => {
                head.retry_after = Some(Duration::from_secs(value.parse().unwrap()));
            }
            "www-authenticate" => {
                let scope = value.split(r#"scope=""#).nth(1).map(|it| it.trim_end_matches('"'));
                head.challenge = Some(match scope {
                    Some(scope) => Challenge::scope(scope),
                    None => Challenge::credentials(),
                });
            }
            other => panic!("a header that no transport here reads: {other}"),
        }
    }
    head
}

/// Returns the one event of a stream, if it is whole.
fn event(body: &str) -> Option<sse::SseEvent> {
    let block = body.strip_suffix("\n\n")?;
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    let data = field("data:").unwrap_or_default().trim_start();
    let id = field("id: ").map(sse::EventId::from);
    let data = Bytes::copy_from_slice(data.as_bytes());
    Some(sse::SseEvent { kind: None, data, id, retry: None })
}

/// The longest time that a call may take. The longest of all waits is that for a server that keeps deferring.
const LIMIT: Duration = Duration::from_secs(120);
