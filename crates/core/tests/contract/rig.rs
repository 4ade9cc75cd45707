//! The test rig: a link whose time is moved by hand, and whose server the test plays.
//!
//! The rig drains the link after every input and sorts its outputs. Unless a test says otherwise, it answers
//! the handshake itself (sessions `s1`, `s2`, …, no standing stream), so that a test shows only what it is
//! about.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ridethrough_core::answer::words::names_a_lost_session;
use ridethrough_core::head::{Challenge, Content};
use ridethrough_core::session::SessionId;
use ridethrough_core::{
    Action, AnswerHead, AttemptId, CallError, CallOptions, Cause, CredentialsId, Delivered, Era,
    Eras, Event, ExchangeId, Failure, Identity, Kind, Lane, Link, Moment, NoCredentials, NoticeId,
    Outcome, Outgoing, Output, PeerNews, Request, RetryPolicy, Verb,
};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::sse;

pub(crate) struct Rig {
    pub(crate) link: Link,
    pub(crate) now: Moment,
    /// The requests that the test has not looked at yet, without handshakes that the rig answers.
    pub(crate) sent: VecDeque<Outgoing>,
    pub(crate) dials: VecDeque<AttemptId>,
    pub(crate) finished: BTreeMap<ExchangeId, Outcome>,
    pub(crate) noticed: BTreeMap<NoticeId, Result<(), CallError>>,
    pub(crate) delivered: Vec<Delivered>,
    pub(crate) told: Vec<Event>,
    pub(crate) shared: Vec<PeerNews>,
    pub(crate) aborted: Vec<AttemptId>,
    pub(crate) recalled: Vec<AttemptId>,
    pub(crate) drained: Vec<AttemptId>,
    pub(crate) credentials_asked: usize,
    /// Whether the hook was told, when it was asked last, that the credentials may be good.
    pub(crate) is_suspicion: bool,
    pub(crate) scope_asked: usize,
    rejected: CredentialsId,
    /// What the server asked for, as the credentials hook was told.
    pub(crate) challenged: Option<Challenge>,
    pub(crate) closed: bool,
    /// Whether the rig answers handshakes by itself.
    pub(crate) plays_handshake: bool,
    /// Whether the rig refuses the machine's own questions in a session as it refused a call in it.
    pub(crate) plays_questions: bool,
    /// The refusals by which calls were told that their sessions are lost, by session.
    refusals: BTreeMap<String, (AnswerHead, String)>,
    /// What the server says in the handshake that it can do.
    pub(crate) capabilities: &'static str,
    /// Whether the rig answers the GET of a standing stream by 405.
    pub(crate) refuses_listener: bool,
    /// How many `initialize` requests were seen.
    pub(crate) handshakes: usize,
    /// How many requests there were in all: a link that never rests must fail the test, not hang it.
    pub(crate) requests: usize,
}

impl Rig {
    /// Creates a link with the default policy, in the legacy era.
    pub(crate) fn new() -> Self {
        Self::with(Era::Legacy, RetryPolicy::default())
    }

    pub(crate) fn with_policy(policy: RetryPolicy) -> Self {
        Self::with(Era::Legacy, policy)
    }

    pub(crate) fn modern() -> Self {
        Self::with(Era::Modern, RetryPolicy::default())
    }

    pub(crate) fn with(eras: impl Into<Eras>, policy: RetryPolicy) -> Self {
        let identity = Identity {
            info: json(r#"{"name":"rig","version":"1"}"#),
            capabilities: Json::empty_object(),
        };
        Self {
            link: Link::new(Moment::START, eras, identity, policy, 42),
            now: Moment::START,
            sent: VecDeque::new(),
            dials: VecDeque::new(),
            finished: BTreeMap::new(),
            noticed: BTreeMap::new(),
            delivered: Vec::new(),
            told: Vec::new(),
            shared: Vec::new(),
            aborted: Vec::new(),
            recalled: Vec::new(),
            drained: Vec::new(),
            credentials_asked: 0,
            is_suspicion: false,
            scope_asked: 0,
            rejected: CredentialsId::default(),
            challenged: None,
            closed: false,
            plays_handshake: true,
            plays_questions: true,
            capabilities: "{}",
            refusals: BTreeMap::new(),
            refuses_listener: true,
            handshakes: 0,
            requests: 0,
        }
    }

    /// Creates a link with a session in place.
    pub(crate) fn connected() -> Self {
        let mut rig = Self::new();
        rig.connect();
        rig
    }

    pub(crate) fn connect(&mut self) {
        let id = self.link.connect(self.now, None);
        self.pump();
        assert!(self.finished[&id].is_ok(), "the rig's own handshake failed");
        self.told.clear();
        self.drained.clear();
    }

    // Commands of the application.

    /// Calls a tool that is not known to be safe.
    pub(crate) fn call(&mut self, tool: &str) -> ExchangeId {
        self.call_with(tool, CallOptions::default())
    }

    pub(crate) fn call_with(&mut self, tool: &str, options: CallOptions) -> ExchangeId {
        let params = Some(json(&format!(r#"{{"name":"{tool}"}}"#)));
        self.send(Request { method: "tools/call".into(), params, options })
    }

    /// Sends a request that is safe by its method.
    pub(crate) fn list(&mut self) -> ExchangeId {
        self.request("tools/list")
    }

    pub(crate) fn request(&mut self, method: &str) -> ExchangeId {
        let options = CallOptions::default();
        self.send(Request { method: method.into(), params: None, options })
    }

    pub(crate) fn send(&mut self, request: Request) -> ExchangeId {
        let id = self.link.send(self.now, request);
        self.pump();
        id
    }

    pub(crate) fn cancel(&mut self, id: ExchangeId) {
        self.link.cancel(self.now, id);
        self.pump();
    }

    pub(crate) fn close(&mut self) {
        self.link.close(self.now);
        self.pump();
    }

    // Outputs of the link.

    /// Returns the next request, which must be a POST.
    pub(crate) fn post(&mut self) -> Outgoing {
        let next = self.next();
        assert!(matches!(next.verb, Verb::Post { .. }), "not a POST: {next:?}");
        next
    }

    /// Returns the next request, which must be a GET.
    pub(crate) fn get(&mut self) -> Outgoing {
        let next = self.next();
        assert!(matches!(next.verb, Verb::Get { .. }), "not a GET: {next:?}");
        next
    }

    pub(crate) fn next(&mut self) -> Outgoing {
        self.sent.pop_front().expect("the machine should have sent a request")
    }

    pub(crate) fn nothing_sent(&self) {
        assert!(self.sent.is_empty(), "unexpected: {:?}", self.sent);
    }

    /// Returns the error that an exchange ended with.
    pub(crate) fn error(&self, id: ExchangeId) -> &CallError {
        let outcome = self.finished.get(&id).expect("the exchange should be over");
        outcome.as_ref().expect_err("it should have failed")
    }

    pub(crate) fn kind(&self, id: ExchangeId) -> Kind {
        self.error(id).kind
    }

    /// Returns the result that an exchange ended with.
    pub(crate) fn result(&self, id: ExchangeId) -> &str {
        match self.finished.get(&id).expect("the exchange should be over") {
            Ok(Answer::Result(json)) => json.as_str(),
            other => panic!("not a result: {other:?}"),
        }
    }

    pub(crate) fn is_open(&self, id: ExchangeId) -> bool {
        !self.finished.contains_key(&id)
    }

    // Answers of the server.

    /// Answers by JSON with this result.
    pub(crate) fn reply(&mut self, request: &Outgoing, result: &str) {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, wire_id(request));
        self.answer(request, 200, Content::Json, &body);
    }

    /// Answers by a JSON-RPC error.
    pub(crate) fn refuse(&mut self, request: &Outgoing, status: u16, code: i64, message: &str) {
        let id = wire_id(request);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#
        );
        self.answer(request, status, Content::Json, &body);
    }

    /// Answers by a bare status.
    pub(crate) fn status(&mut self, request: &Outgoing, status: u16) {
        self.answer(request, status, Content::Nothing, "");
    }

    pub(crate) fn answer(&mut self, request: &Outgoing, status: u16, content: Content, body: &str) {
        self.answer_with(request, head(status, content), body);
    }

    pub(crate) fn answer_with(&mut self, request: &Outgoing, head: AnswerHead, body: &str) {
        self.note_refusal(request, &head, body);
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.link.handle_head(self.now, request.attempt, head);
        self.link.handle_body(self.now, request.attempt, &body);
        self.pump();
    }

    fn note_refusal(&mut self, request: &Outgoing, head: &AnswerHead, body: &str) {
        let speaks_of_loss =
            matches!(head.status.as_u16(), 404 | 410) || names_a_lost_session(body);
        let is_call = request.lane == Lane::Call;
        if let Some(session) = session(request)
            && is_call
            && speaks_of_loss
        {
            let body = body.replace(&format!(r#""id":{},"#, wire_id(request)), ID);
            self.refusals.insert(session.to_owned(), (head.clone(), body));
        }
    }

    /// Refuses a question of the link as a call in its session was refused. Returns whether it was one.
    fn refuse_question(&mut self, request: &Outgoing) -> bool {
        let is_question = request.lane == Lane::Control
            && member::<u64>(request, "id").is_some()
            && self.plays_questions;
        let refusal = session(request).and_then(|session| self.refusals.get(session));
        let Some((head, body)) = refusal.filter(|_| is_question).cloned() else { return false };
        let body = body.replace(ID, &format!(r#""id":{},"#, wire_id(request)));
        self.link.handle_head(self.now, request.attempt, head);
        self.link.handle_body(self.now, request.attempt, &Bytes::from(body));
        true
    }

    /// Answers by a status with `Retry-After`.
    pub(crate) fn busy(&mut self, request: &Outgoing, status: u16, retry_after: Duration) {
        let mut head = head(status, Content::Nothing);
        head.retry_after = Some(retry_after);
        self.answer_with(request, head, "");
    }

    /// Answers by 401 with a challenge.
    pub(crate) fn challenge(&mut self, request: &Outgoing) {
        let mut head = head(401, Content::Nothing);
        head.challenge = Some(Challenge::credentials());
        self.answer_with(request, head, "");
    }

    /// Opens a stream.
    pub(crate) fn open(&mut self, request: &Outgoing) {
        self.link.handle_head(self.now, request.attempt, head(200, Content::EventStream));
        self.pump();
    }

    /// Sends an event without an id.
    pub(crate) fn event(&mut self, request: &Outgoing, data: &str) {
        self.event_with(request, None, data);
    }

    /// Sends an event with an id; empty data makes it a priming event.
    pub(crate) fn event_id(&mut self, request: &Outgoing, id: &str, data: &str) {
        self.event_with(request, Some(id), data);
    }

    pub(crate) fn event_with(&mut self, request: &Outgoing, id: Option<&str>, data: &str) {
        let event = sse::SseEvent {
            kind: None,
            data: Bytes::copy_from_slice(data.as_bytes()),
            id: id.map(sse::EventId::from),
            retry: None,
        };
        self.raw_event(request, &event);
    }

    pub(crate) fn retry(&mut self, request: &Outgoing, id: &str, retry: Duration) {
        let id = Some(sse::EventId::from(id));
        let event = sse::SseEvent { kind: None, data: Bytes::new(), id, retry: Some(retry) };
        self.raw_event(request, &event);
    }

    pub(crate) fn raw_event(&mut self, request: &Outgoing, event: &sse::SseEvent) {
        self.link.handle_event(self.now, request.attempt, event);
        self.pump();
    }

    /// Sends the result of `asked` on the stream that answers `carrier`.
    pub(crate) fn event_result(&mut self, carrier: &Outgoing, asked: &Outgoing, result: &str) {
        let data = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, wire_id(asked));
        self.event(carrier, &data);
    }

    pub(crate) fn end(&mut self, request: &Outgoing) {
        self.link.handle_end(self.now, request.attempt);
        self.pump();
    }

    pub(crate) fn fail(&mut self, request: &Outgoing, failure: Failure) {
        self.link.handle_failure(self.now, request.attempt, failure);
        self.pump();
    }

    pub(crate) fn reset(&mut self, request: &Outgoing) {
        self.fail(request, Failure::unknown(Cause::Reset));
    }

    pub(crate) fn refuse_connection(&mut self, request: &Outgoing) {
        self.fail(request, Failure::not_sent(Cause::ConnectRefused));
    }

    /// Lets the credentials hook return from the last question.
    pub(crate) fn bring_credentials(&mut self, renewed: Result<(), NoCredentials>) {
        self.link.handle_credentials(self.now, self.rejected, renewed);
        self.pump();
    }

    /// Lets the credentials hook return from the demand for more scope.
    pub(crate) fn bring_scope(&mut self, brought: Result<(), NoCredentials>) {
        self.link.handle_scope(self.now, brought);
        self.pump();
    }

    pub(crate) fn dial_succeeds(&mut self) {
        let attempt = self.dials.pop_front().expect("the machine should have dialed");
        self.link.handle_connect(self.now, attempt, Ok(()));
        self.pump();
    }

    pub(crate) fn dial_fails(&mut self) {
        self.dial_fails_with(Cause::ConnectRefused);
    }

    pub(crate) fn dial_fails_with(&mut self, cause: Cause) {
        let attempt = self.dials.pop_front().expect("the machine should have dialed");
        self.link.handle_connect(self.now, attempt, Err(Failure::not_sent(cause)));
        self.pump();
    }

    // The passing of time.

    /// Lets time pass, and wakes the link whenever it asks for it.
    pub(crate) fn advance(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((moment, _)) = self.link.poll_timeout()
            && moment <= end
        {
            self.now = self.now.max(moment);
            self.link.handle_timeout(self.now);
            self.pump();
        }
        self.now = end;
    }

    /// Lets time pass until the next request, and returns how long that took.
    pub(crate) fn advance_to_send(&mut self) -> Duration {
        let began = self.now;
        while self.sent.is_empty() {
            assert!(
                self.now.since(began) < Duration::from_secs(3600),
                "nothing was sent for an hour"
            );
            self.step();
        }
        self.now.since(began)
    }

    /// Lets time pass until the next request, or until the rig has answered a handshake.
    pub(crate) fn advance_to_send_or_handshake(&mut self) {
        let handshakes = self.handshakes;
        while self.sent.is_empty() && self.handshakes == handshakes {
            self.step();
        }
    }

    /// Returns the next call of the application, whatever was sent before it.
    pub(crate) fn call_sent(&mut self) -> Outgoing {
        let place = self.sent.iter().position(|each| each.lane == Lane::Call);
        self.sent.remove(place.expect("a call should have been sent")).expect("it is there")
    }

    /// Lets time pass until the next connect.
    pub(crate) fn advance_to_dial(&mut self) -> Duration {
        let began = self.now;
        while self.dials.is_empty() {
            self.step();
        }
        self.now.since(began)
    }

    /// Lets time pass until this exchange is over.
    pub(crate) fn advance_to_end(&mut self, id: ExchangeId) -> Duration {
        let began = self.now;
        while self.is_open(id) {
            self.step();
        }
        self.now.since(began)
    }

    fn step(&mut self) {
        let (moment, _) = self.link.poll_timeout().expect("the machine should wait for something");
        self.now = self.now.max(moment);
        self.link.handle_timeout(self.now);
        self.pump();
    }

    /// Drains the link and sorts its outputs.
    pub(crate) fn pump(&mut self) {
        while let Some(output) = self.link.poll_output() {
            match output {
                Output::Act(Action::Abort { attempt }) => self.aborted.push(attempt),
                Output::Act(Action::Closed) => self.closed = true,
                Output::Act(Action::Dial { attempt }) => self.dials.push_back(attempt),
                Output::Act(Action::Drain { attempt, within, bytes }) => {
                    assert_eq!((within, bytes), (secs(2), 64 * 1024), "row 15's bounds");
                    self.drained.push(attempt);
                }
                Output::Act(Action::Recall { attempt }) => self.recalled.push(attempt),
                Output::Act(Action::RenewCredentials { rejected, challenge, is_suspicion }) => {
                    self.credentials_asked += 1;
                    self.rejected = rejected;
                    self.challenged = challenge;
                    self.is_suspicion = is_suspicion;
                }
                Output::Act(Action::RequestScope { .. }) => self.scope_asked += 1,
                Output::Act(Action::Send(request)) => self.take(request),
                Output::Deliver(delivered) => self.delivered.push(delivered),
                Output::Finish { exchange, outcome, .. } => {
                    let before = self.finished.insert(exchange, outcome);
                    assert!(before.is_none(), "{exchange} ended twice");
                }
                Output::Noticed { notice, outcome } => {
                    let before = self.noticed.insert(notice, outcome);
                    assert!(before.is_none(), "{notice} ended twice");
                }
                Output::Share(news) => self.shared.push(news),
                Output::Tell(event) => self.told.push(event),
            }
        }
    }

    fn take(&mut self, request: Outgoing) {
        self.requests += 1;
        assert!(self.requests < 15_000, "the machine never rests");
        let method = method(&request);
        let is_listener = matches!(request.verb, Verb::Get { last_event_id: None });
        match method.as_deref() {
            Some("initialize") => {
                self.handshakes += 1;
                if !self.plays_handshake {
                    return self.sent.push_back(request);
                }
                let session = format!("s{}", self.handshakes);
                self.accept_initialize(&request, &session);
            }
            Some("notifications/initialized") if self.plays_handshake => {
                self.link.handle_head(self.now, request.attempt, head(202, Content::Nothing));
            }
            _ if self.refuse_question(&request) => {}
            _ if is_listener && self.refuses_listener => {
                self.link.handle_head(self.now, request.attempt, head(405, Content::Nothing));
            }
            _ => self.sent.push_back(request),
        }
    }

    /// Answers `initialize` with a session of this name.
    pub(crate) fn accept_initialize(&mut self, request: &Outgoing, session: &str) {
        let mut head = head(200, Content::Json);
        head.session = SessionId::new(session);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{{"name":"model","version":"1"}}}}}}"#,
            wire_id(request),
            self.capabilities
        );
        self.link.handle_head(self.now, request.attempt, head);
        self.link.handle_body(self.now, request.attempt, &Bytes::from(body));
    }
}

/// The placeholder for the id of a request in a refusal.
const ID: &str = r#""id":OURS,"#;

pub(crate) fn json(text: &str) -> Json {
    Json::new(text.to_owned()).expect("valid JSON")
}

pub(crate) fn head(status: u16, content: Content) -> AnswerHead {
    AnswerHead::new(StatusCode::from_u16(status).expect("a status"), content)
}

/// Returns the text of a POST.
pub(crate) fn body(request: &Outgoing) -> &str {
    match &request.verb {
        Verb::Post { body } => std::str::from_utf8(body).expect("UTF-8"),
        other => panic!("no POST: {other:?}"),
    }
}

fn member<T: for<'a> serde::Deserialize<'a>>(request: &Outgoing, key: &str) -> Option<T> {
    let Verb::Post { body } = &request.verb else { return None };
    let value: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    serde_json::from_value(value.get(key)?.clone()).ok()
}

/// Returns the id of a request on the wire.
pub(crate) fn wire_id(request: &Outgoing) -> u64 {
    member(request, "id").expect("an id")
}

/// Returns the method of a POST.
pub(crate) fn method(request: &Outgoing) -> Option<String> {
    member(request, "method")
}

/// Returns the params of a message.
pub(crate) fn params(request: &Outgoing) -> Json {
    let Verb::Post { body } = &request.verb else { panic!("a message is posted") };
    let message = Json::new(body.clone()).expect("a message is JSON");
    message.member("params").expect("a request has params")
}

/// Returns a header of the request's own.
pub(crate) fn header(request: &Outgoing, name: &str) -> Option<String> {
    let found = request.headers.iter().find(|(each, _)| *each == name);
    found.map(|(_, value)| value.to_str().expect("ASCII").to_owned())
}

/// Returns the session that a request names.
pub(crate) fn session(request: &Outgoing) -> Option<&str> {
    request.to.session.as_ref().map(SessionId::as_str)
}

/// Returns the event after which a GET resumes.
pub(crate) fn resumes_after(request: &Outgoing) -> Option<&str> {
    match &request.verb {
        Verb::Get { last_event_id } => last_event_id.as_ref().map(|id| id.as_str()),
        _ => None,
    }
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
