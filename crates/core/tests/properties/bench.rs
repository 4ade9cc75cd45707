//! The bench: a link under a script, and the record of what it did.

mod stateless;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ridethrough_core::answer::status::is_not_carried_out;
use ridethrough_core::head::{Challenge, Content};
use ridethrough_core::session::SessionId;
use ridethrough_core::{
    Action, AnswerHead, AttemptId, CallOptions, Cause, CredentialsId, Delivered, Delivery, Era,
    Eras, ExchangeId, Failure, Generation, Identity, Kind, Link, Moment, NoCredentials, Outcome,
    Outgoing, Output, QuestionId, Request, RetryPolicy, Verb,
};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::sse;

use crate::moves::{Deed, Move};
use crate::wire;

/// A link and its history.
pub(crate) struct Bench {
    pub(crate) link: Link,
    eras: Eras,
    /// The era that the server names when it is asked.
    speaks: Era,
    now: Moment,
    /// The requests that are out, in their order.
    pub(crate) out: BTreeMap<AttemptId, Out>,
    dialing: Option<AttemptId>,
    asks_credentials: Option<CredentialsId>,
    asks_scope: bool,
    calls: BTreeMap<u64, Call>,
    by_exchange: BTreeMap<ExchangeId, u64>,
    pub(crate) begun: usize,
    pub(crate) outcomes: BTreeMap<u64, Outcome>,
    sessions: u64,
    /// The newest session generation under which something was sent.
    generation: Generation,
    /// The open questions of rounds.
    questions: BTreeSet<QuestionId>,
    wire_ids: BTreeSet<u64>,
    /// The attempts that were out once and are not any more.
    gone: Vec<AttemptId>,
    pub(crate) closed: bool,
    pub(crate) last_call_succeeded: bool,
    outputs: u64,

    pub(crate) unsafe_repeats: Vec<String>,
    pub(crate) after_the_end: Vec<String>,
    pub(crate) mixed: Vec<String>,
    pub(crate) undercut: Vec<String>,
    pub(crate) denied: Vec<String>,
    pub(crate) wire_faults: Vec<String>,
    pub(crate) ids_again: Vec<u64>,
    pub(crate) wrong_states: Vec<String>,
    pub(crate) left_open: Vec<String>,
    pub(crate) false_cancels: Vec<String>,
    pub(crate) most_rounds: u32,
    pub(crate) most_resumes: u32,
    pub(crate) most_sends: u32,
    pub(crate) shortest_resume_gap: Option<Duration>,
    pub(crate) most_handshakes_out: usize,
}

/// A request that is out.
#[derive(Debug)]
pub(crate) struct Out {
    what: What,
    era: Era,
    wire_id: u64,
    since: Moment,
    is_stream: bool,
    has_head: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Call(u64),
    Discover,
    Handshake,
    Initialized,
    Listener,
    Other,
    Ping,
    Resume(u64),
}

/// What is known of one call of the application.
#[derive(Debug, Default)]
struct Call {
    is_safe: bool,
    wire_ids: BTreeSet<u64>,
    /// Whether the server has, or may have, received a send.
    may_have_arrived: bool,
    sends: u32,
    resumes: u32,
    resumed_at: Option<Moment>,
    not_before: Moment,
    /// Whether the server has, or may have, received a send of the current round. A server that asks for
    /// input wants another.
    in_doubt: bool,
    rounds: u32,
    /// The state that the server gave last.
    state: Option<String>,
    is_cancelled: bool,
    is_over: bool,
}

impl Bench {
    pub(crate) fn new(eras: Eras) -> Self {
        let identity = Identity { info: Json::empty_object(), capabilities: Json::empty_object() };
        let policy = RetryPolicy::default();
        Self {
            link: Link::new(Moment::START, eras, identity, policy, 7),
            eras,
            speaks: if eras == Eras::Only(Era::Legacy) { Era::Legacy } else { Era::Modern },
            now: Moment::START,
            out: BTreeMap::new(),
            dialing: None,
            asks_credentials: None,
            asks_scope: false,
            calls: BTreeMap::new(),
            by_exchange: BTreeMap::new(),
            begun: 0,
            outcomes: BTreeMap::new(),
            sessions: 0,
            generation: Generation::default(),
            questions: BTreeSet::new(),
            wire_ids: BTreeSet::new(),
            gone: Vec::new(),
            closed: false,
            last_call_succeeded: false,
            outputs: 0,
            unsafe_repeats: Vec::new(),
            after_the_end: Vec::new(),
            mixed: Vec::new(),
            undercut: Vec::new(),
            denied: Vec::new(),
            wire_faults: Vec::new(),
            ids_again: Vec::new(),
            wrong_states: Vec::new(),
            left_open: Vec::new(),
            false_cancels: Vec::new(),
            most_rounds: 0,
            most_resumes: 0,
            most_sends: 0,
            shortest_resume_gap: None,
            most_handshakes_out: 0,
        }
    }

    pub(crate) fn make(&mut self, each: &Move) {
        match each {
            Move::Call { is_safe } => _ = self.call(*is_safe),
            Move::Cancel(which) => {
                let open: Vec<_> = self.by_exchange.keys().copied().collect();
                if let Some(id) = pick(&open, *which) {
                    self.cancel(id);
                }
            }
            Move::Input(which, is_given) => self.give_input(*which, *is_given),
            Move::Listen => self.link.listen(self.now),
            Move::Notify => _ = self.link.notify(self.now, "notifications/x", None),
            Move::Suspend => {
                self.link.handle_resumed_from_suspend(self.now, Duration::from_secs(60));
            }
            Move::Switch => {
                self.speaks = if self.speaks == Era::Legacy { Era::Modern } else { Era::Legacy };
            }
            Move::Serve(which, deed) => {
                let out: Vec<_> = self.out.keys().copied().collect();
                if let Some(attempt) = pick(&out, *which) {
                    self.serve(attempt, deed);
                }
            }
            Move::Connect(is_up) => self.connect(*is_up),
            Move::Credentials(is_renewed) => self.bring_credentials(*is_renewed),
            Move::Scope(is_brought) => self.bring_scope(*is_brought),
            Move::Wait(millis) => self.wait(Duration::from_millis((*millis).into())),
        }
        self.pump();
    }

    fn call(&mut self, is_safe: bool) -> u64 {
        self.begun += 1;
        let call = self.begun as u64;
        let method = if is_safe { "resources/read" } else { "tools/call" };
        let params = Some(Json::new(format!(r#"{{"call":{call}}}"#)).unwrap());
        let options = CallOptions::default();
        self.calls.insert(call, Call { is_safe, ..Call::default() });
        let id = self.link.send(self.now, Request { method: method.into(), params, options });
        self.by_exchange.insert(id, call);
        self.pump();
        call
    }

    fn connect(&mut self, is_up: bool) {
        if let Some(attempt) = self.dialing.take() {
            let refused = Err(Failure::not_sent(Cause::ConnectRefused));
            self.link.handle_connect(self.now, attempt, if is_up { Ok(()) } else { refused });
        }
    }

    fn bring_credentials(&mut self, is_renewed: bool) {
        if let Some(rejected) = self.asks_credentials.take() {
            let renewed = if is_renewed { Ok(()) } else { Err(NoCredentials::new()) };
            self.link.handle_credentials(self.now, rejected, renewed);
        }
    }

    fn bring_scope(&mut self, is_brought: bool) {
        if std::mem::take(&mut self.asks_scope) {
            let brought = if is_brought { Ok(()) } else { Err(NoCredentials::new()) };
            self.link.handle_scope(self.now, brought);
        }
    }

    /// Lets time pass, and wakes the link as often as it asks.
    pub(crate) fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((at, _)) = self.link.poll_timeout()
            && at <= end
        {
            self.now = self.now.max(at);
            self.link.handle_timeout(self.now);
            self.pump();
        }
        self.now = end;
    }

    pub(crate) fn outlast_all_deadlines(&mut self) {
        self.wait(Duration::from_secs(601));
    }

    pub(crate) fn close(&mut self) {
        self.link.close(self.now);
        self.pump();
        self.wait(Duration::from_secs(6));
    }

    /// Makes everything work from now on, with each answer after `grace`.
    pub(crate) fn heal(&mut self, grace: u32) {
        let grace = Duration::from_millis(grace.into());
        for _ in 0..3000 {
            self.serve_everything();
            self.wait(grace.max(Duration::from_millis(50)));
            if self.outcomes.len() == self.begun {
                let call = self.call(true);
                self.serve_everything();
                self.wait(grace);
                self.serve_everything();
                self.last_call_succeeded |= self.outcomes.get(&call).is_some_and(Result::is_ok);
                if self.last_call_succeeded {
                    return;
                }
            }
        }
    }

    /// Refuses a call for its scope, makes another one, and returns whether that is answered while the first
    /// one waits.
    pub(crate) fn goes_on_without_scope(&mut self) -> bool {
        let refused = self.call(true);
        for _ in 0..200 {
            let is_of = |out: &Out| out.what == What::Call(refused);
            let Some((&attempt, _)) = self.out.iter().find(|(_, out)| is_of(out)) else {
                self.wait(Duration::from_millis(50));
                continue;
            };
            self.serve(attempt, &Deed::NeedScope);
            self.pump();
            let other = self.call(true);
            for _ in 0..100 {
                self.serve_all_but_scope();
                self.wait(Duration::from_millis(50));
            }
            let is_answered = self.outcomes.get(&other).is_some_and(Result::is_ok);
            return is_answered && !self.outcomes.contains_key(&refused);
        }
        false
    }

    fn serve_everything(&mut self) {
        self.serve_all_but_scope();
        self.bring_scope(true);
        self.pump();
    }

    fn serve_all_but_scope(&mut self) {
        self.connect(true);
        self.pump();
        self.bring_credentials(true);
        self.pump();
        while !self.questions.is_empty() {
            self.give_input(0, true);
            self.pump();
        }
        let out: Vec<_> = self.out.keys().copied().collect();
        for attempt in out {
            self.serve(attempt, &Deed::Answer);
            self.pump();
        }
    }

    /// Repeats the moves as news of attempts that are over.
    pub(crate) fn replay_late(&mut self, moves: &[Move]) {
        for each in moves {
            let Move::Serve(which, _) = each else { continue };
            let Some(attempt) = pick(&self.gone, *which) else { continue };
            let now = self.now;
            let late = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
            let event = event(Some("late".to_owned()), late, None);
            match which % 6 {
                0 => self.link.handle_head(now, attempt, head(404, Content::Json)),
                1 => self.link.handle_body(now, attempt, &Bytes::from_static(b"{}")),
                2 => self.link.handle_event(now, attempt, &event),
                3 => self.link.handle_end(now, attempt),
                4 => self.link.handle_failure(now, attempt, Failure::unknown(Cause::Reset)),
                _ => {
                    self.link.handle_failure(now, attempt, Failure::not_sent(Cause::ConnectRefused))
                }
            }
            self.pump();
        }
    }

    /// Returns everything that can be seen of the link.
    pub(crate) fn fingerprint(&self) -> String {
        format!("{:?} {} {}", self.link.status(self.now), self.outputs, self.outcomes.len())
    }

    fn serve(&mut self, attempt: AttemptId, deed: &Deed) {
        let Some(out) = self.out.get(&attempt) else { return };
        let (what, era, wire_id, is_stream, has_head) =
            (out.what, out.era, out.wire_id, out.is_stream, out.has_head);
        match deed {
            Deed::NeedInput(state, questions) => self.need_input(attempt, *state, *questions),
            Deed::OtherEra if !has_head => self.meet_other_era(attempt, era, wire_id),
            Deed::Refuse(code) if !has_head => self.refuse_with(attempt, wire_id, *code),
            Deed::Answer if is_stream => self.answer_on_stream(attempt, what, wire_id),
            Deed::Answer => self.answer(attempt, what, wire_id),
            Deed::Error(words) if !has_head => self.error(attempt, wire_id, words),
            Deed::Status(status, hint) if !has_head => self.status(attempt, what, *status, *hint),
            Deed::Challenge if !has_head => {
                let mut head = head(401, Content::Nothing);
                head.challenge = Some(Challenge::credentials());
                self.whole(attempt, head, String::new());
            }
            Deed::NeedScope if !has_head => {
                let mut head = head(403, Content::Nothing);
                head.challenge = Some(Challenge::scope("admin"));
                self.whole(attempt, head, String::new());
            }
            Deed::Nonsense if !has_head => {
                self.arrived(what);
                self.whole(attempt, head(200, Content::Json), "nonsense".to_owned());
            }
            Deed::Open if !has_head => self.open(attempt, what),
            Deed::Event(id, has_news) if is_stream => {
                let news = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
                let event = event(name(what, *id), if *has_news { news } else { "" }, None);
                self.link.handle_event(self.now, attempt, &event);
            }
            Deed::Retry(millis) if is_stream => {
                let retry = Duration::from_millis((*millis).into());
                self.link.handle_event(
                    self.now,
                    attempt,
                    &event(name(what, Some(0)), "", Some(retry)),
                );
            }
            Deed::Stray if is_stream => {
                let stray = event(None, r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#, None);
                self.link.handle_event(self.now, attempt, &stray);
            }
            Deed::Comment if is_stream => self.link.handle_bytes(self.now, attempt),
            Deed::End if is_stream => {
                self.forget(attempt);
                self.link.handle_end(self.now, attempt);
            }
            Deed::Reset => self.fail(attempt, what, Failure::unknown(Cause::Reset)),
            Deed::TooLarge => self.fail(attempt, what, Failure::unknown(Cause::TooLarge)),
            Deed::Unsent if !has_head => {
                self.fail(attempt, What::Other, Failure::not_sent(Cause::ConnectRefused));
            }
            _ => {}
        }
    }

    fn answer(&mut self, attempt: AttemptId, what: What, wire_id: u64) {
        self.arrived(what);
        let result = match what {
            What::Call(call) | What::Resume(call) => format!(r#"{{"call":{call}}}"#),
            What::Discover => return self.say_era(attempt, wire_id),
            What::Handshake => r#"{"protocolVersion":"2025-11-25"}"#.to_owned(),
            What::Initialized | What::Other => {
                return self.whole(attempt, head(202, Content::Nothing), String::new());
            }
            What::Listener => return self.open(attempt, what),
            What::Ping => "{}".to_owned(),
        };
        let mut head = head(200, Content::Json);
        if what == What::Handshake {
            self.sessions += 1;
            head.session = SessionId::new(&format!("s{}", self.sessions));
        }
        self.whole(attempt, head, result_text(wire_id, &result));
    }

    fn answer_on_stream(&mut self, attempt: AttemptId, what: What, wire_id: u64) {
        let result = match what {
            What::Call(call) | What::Resume(call) => format!(r#"{{"call":{call}}}"#),
            What::Discover => r#"{"supportedVersions":["2026-07-28"]}"#.to_owned(),
            What::Handshake => r#"{"protocolVersion":"2025-11-25"}"#.to_owned(),
            What::Ping => "{}".to_owned(),
            What::Listener => return self.acknowledge(attempt, wire_id),
            What::Initialized | What::Other => return,
        };
        let answer = event(None, &result_text(wire_id, &result), None);
        self.link.handle_event(self.now, attempt, &answer);
    }

    fn error(&mut self, attempt: AttemptId, wire_id: u64, words: &str) {
        let code = if words.starts_with("Method") { -32601 } else { -32000 };
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{wire_id},"error":{{"code":{code},"message":"{words}"}}}}"#
        );
        self.whole(attempt, head(200, Content::Json), text);
    }

    fn status(&mut self, attempt: AttemptId, what: What, status: u16, hint: Option<u32>) {
        let hint = hint.map(|millis| Duration::from_millis(millis.into()));
        // These statuses mean that the request was not carried out; the link asks about a lost session, and about
        // credentials without a challenge.
        let is_refusal = is_not_carried_out(StatusCode::from_u16(status).unwrap(), 0)
            || matches!(status, 401 | 404 | 410);
        if !is_refusal {
            self.arrived(what);
        }
        let mut head = head(status, Content::Nothing);
        head.retry_after = hint;
        let is_deferral = matches!(status, 425 | 429 | 503);
        if let (What::Call(call), Some(hint), true) = (what, hint, is_deferral)
            && let Some(call) = self.calls.get_mut(&call)
        {
            call.not_before = self.now + hint;
        }
        self.whole(attempt, head, String::new());
    }

    fn open(&mut self, attempt: AttemptId, what: What) {
        self.arrived(what);
        if let Some(out) = self.out.get_mut(&attempt) {
            (out.is_stream, out.has_head) = (true, true);
        }
        let mut head = head(200, Content::EventStream);
        if what == What::Handshake {
            self.sessions += 1;
            head.session = SessionId::new(&format!("s{}", self.sessions));
        }
        self.link.handle_head(self.now, attempt, head);
    }

    fn whole(&mut self, attempt: AttemptId, head: AnswerHead, body: String) {
        self.forget(attempt);
        self.link.handle_head(self.now, attempt, head);
        self.link.handle_body(self.now, attempt, &Bytes::from(body));
    }

    fn fail(&mut self, attempt: AttemptId, what: What, failure: Failure) {
        self.arrived(what);
        self.forget(attempt);
        self.link.handle_failure(self.now, attempt, failure);
    }

    /// Notes that the server has the request, or may have it.
    fn arrived(&mut self, what: What) {
        if let What::Call(call) = what
            && let Some(call) = self.calls.get_mut(&call)
        {
            (call.may_have_arrived, call.in_doubt) = (true, true);
        }
    }

    fn forget(&mut self, attempt: AttemptId) {
        if self.out.remove(&attempt).is_some() {
            self.gone.push(attempt);
        }
    }

    fn pump(&mut self) {
        while let Some(output) = self.link.poll_output() {
            self.outputs += 1;
            match output {
                Output::Act(Action::Abort { attempt } | Action::Drain { attempt, .. }) => {
                    self.forget(attempt);
                }
                Output::Act(Action::Closed) => self.closed = true,
                Output::Act(Action::Dial { attempt }) => self.dialing = Some(attempt),
                // As if all of it had been sent.
                Output::Act(Action::Recall { .. }) => {}
                Output::Act(Action::RenewCredentials { rejected, .. }) => {
                    self.asks_credentials = Some(rejected);
                }
                Output::Act(Action::RequestScope { .. }) => self.asks_scope = true,
                Output::Act(Action::Send(request)) => self.sent(&request),
                Output::Finish { exchange, outcome, .. } => self.ended(exchange, outcome),
                Output::Deliver(Delivered::Question { question, .. }) => {
                    self.questions.insert(question);
                }
                Output::Deliver(Delivered::Withdrawn { question }) => {
                    self.questions.remove(&question);
                }
                Output::Deliver(_)
                | Output::Noticed { .. }
                | Output::Share(_)
                | Output::Tell(_) => {}
            }
        }
    }

    fn sent(&mut self, request: &Outgoing) {
        let (what, wire_id) = self.read(request);
        let era = request.to.era();
        self.wire_faults.extend(wire::fault(self.eras, request));
        if let (Some(_), Some(id)) = wire::named(request)
            && !self.wire_ids.insert(id)
        {
            self.ids_again.push(id);
        }
        self.generation = self.generation.max(request.to.generation);
        match what {
            What::Call(number) => {
                self.posted(number, wire_id);
                self.echoed(number, era, wire::state(request));
            }
            What::Resume(number) => self.resumed(number),
            _ => {}
        }
        let out = Out { what, era, wire_id, since: self.now, is_stream: false, has_head: false };
        self.out.insert(request.attempt, out);
        // After that a handshake is abandoned; the link still waits for its answer, to delete its session.
        let is_renewing = |out: &&Out| {
            let limit = match out.what {
                What::Discover => Duration::from_secs(3),
                What::Handshake => Duration::from_secs(15),
                _ => return false,
            };
            self.now.since(out.since) < limit
        };
        let handshakes = self.out.values().filter(is_renewing).count();
        self.most_handshakes_out = self.most_handshakes_out.max(handshakes);
    }

    fn read(&self, request: &Outgoing) -> (What, u64) {
        match &request.verb {
            Verb::Delete => (What::Other, 0),
            Verb::Get { last_event_id: None } => (What::Listener, 0),
            Verb::Get { last_event_id: Some(id) } => {
                // Event ids name the call whose stream they were sent on.
                let number = id.as_str().split('-').next().and_then(|it| it.parse().ok());
                match number.and_then(|number| Some((number, self.calls.get(&number)?))) {
                    Some((number, call)) => {
                        (What::Resume(number), call.wire_ids.last().copied().unwrap_or(0))
                    }
                    None => (What::Listener, 0),
                }
            }
            Verb::Post { body } => {
                let text = std::str::from_utf8(body).unwrap();
                let wire_id = number_after(text, r#""id":"#).unwrap_or(0);
                let what = match number_after(text, r#""call":"#) {
                    Some(call) => What::Call(call),
                    None if text.contains(r#""method":"initialize""#) => What::Handshake,
                    None if text.contains("notifications/initialized") => What::Initialized,
                    None if text.contains(r#""method":"server/discover""#) => {
                        // A probe uses this method, too, in the generation in force.
                        let is_new = request.to.generation > self.generation;
                        if is_new { What::Discover } else { What::Ping }
                    }
                    None if text.contains(r#""method":"subscriptions/listen""#) => What::Listener,
                    None if text.contains(r#""method":"ping""#) => What::Ping,
                    None if text.contains(r#""method":"tools/list""#) => What::Ping,
                    None => What::Other,
                };
                (what, wire_id)
            }
        }
    }

    fn posted(&mut self, number: u64, wire_id: u64) {
        let now = self.now;
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.sends += 1;
        call.wire_ids.insert(wire_id);
        self.most_rounds = self.most_rounds.max(call.rounds);
        if call.in_doubt && !call.is_safe {
            self.unsafe_repeats.push(format!("call {number} at {now}"));
        }
        if now < call.not_before {
            self.undercut.push(format!("call {number} at {now}, asked for {}", call.not_before));
        }
        if call.is_over {
            self.after_the_end.push(format!("call {number} was sent at {now}"));
        }
        self.most_sends = self.most_sends.max(call.sends);
    }

    /// Checks that the server's state is sent back unchanged, and never to a legacy server.
    fn echoed(&mut self, number: u64, era: Era, state: Option<String>) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        if era == Era::Legacy {
            call.state = None;
        }
        if call.state != state {
            self.wrong_states.push(format!("call {number}: {state:?} for {:?}", call.state));
        }
    }

    fn resumed(&mut self, number: u64) {
        let now = self.now;
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.resumes += 1;
        self.most_resumes = self.most_resumes.max(call.resumes);
        if let Some(gap) = call.resumed_at.replace(now).map(|last| now.since(last)) {
            self.shortest_resume_gap =
                Some(self.shortest_resume_gap.map_or(gap, |old| old.min(gap)));
        }
        if call.is_over {
            self.after_the_end.push(format!("call {number} was resumed at {now}"));
        }
    }

    fn ended(&mut self, exchange: ExchangeId, outcome: Outcome) {
        let Some(number) = self.by_exchange.remove(&exchange) else {
            panic!("{exchange} ended twice, or was never begun");
        };
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.is_over = true;
        match &outcome {
            Ok(Answer::Result(result)) if result.as_str() != format!(r#"{{"call":{number}}}"#) => {
                self.mixed.push(format!("call {number} got {}", result.as_str()));
            }
            Err(error) if error.kind == Kind::Cancelled && !call.is_cancelled => {
                self.false_cancels.push(format!("call {number}"));
            }
            Err(error) if call.may_have_arrived && error.delivery != Delivery::Unknown => {
                self.denied.push(format!("call {number}: {:?} {:?}", error.kind, error.delivery));
            }
            _ => {}
        }
        self.outcomes.insert(number, outcome);
    }
}

fn pick<T: Copy>(among: &[T], which: u8) -> Option<T> {
    (!among.is_empty()).then(|| among[usize::from(which) % among.len()])
}

fn head(status: u16, content: Content) -> AnswerHead {
    AnswerHead::new(StatusCode::from_u16(status).unwrap(), content)
}

/// Returns the name of an event, from which its stream can be told.
fn name(what: What, id: Option<u8>) -> Option<String> {
    let number = match what {
        What::Call(call) | What::Resume(call) => call.to_string(),
        _ => "other".to_owned(),
    };
    id.map(|id| format!("{number}-{id}"))
}

fn event(id: Option<String>, data: &str, retry: Option<Duration>) -> sse::SseEvent {
    let id = id.map(|id| sse::EventId::from(id.as_str()));
    sse::SseEvent { kind: None, data: Bytes::copy_from_slice(data.as_bytes()), id, retry }
}

fn result_text(wire_id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{wire_id},"result":{result}}}"#)
}

fn number_after(text: &str, key: &str) -> Option<u64> {
    let rest = &text[text.find(key)? + key.len()..];
    let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
