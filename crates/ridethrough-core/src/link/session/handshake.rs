//! Making a session for all who wait: `initialize`, `initialized`, restore, release.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;

use super::renewal::{self, Opening, Opens, Ready, Renewal, Session, Stage};
use crate::answer::{Asked, PostReading, read_post, status};
use crate::era::{Carrier, Version};
use crate::event::Event;
use crate::exchange::{Ending, MOST_STEP_UPS, follow};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::{AnswerHead, Content, Redirect};
use crate::link::Link;
use crate::link::attempts::Owner;
use crate::link::timers::Timer;
use crate::message::{Answer, Json, Message, Params, notification_body};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Address, Verb};
use crate::session::Carried;

impl Link {
    /// Begins a handshake, unless there is a session or one is being made.
    pub(crate) fn ensure_session(&mut self, now: Moment) {
        if self.closing.is_begun() {
            return;
        }
        match self.session.session {
            Session::Absent => {
                self.session.session =
                    Session::Renewing(Box::new(Renewal::new(now, self.session.had_session)));
                self.try_handshake(now);
            }
            // The connect loop may rest because nobody waited until now.
            Session::Renewing(_) => self.drive_dial(now),
            Session::Ready(_) => {}
        }
    }

    /// Sends `initialize`, or asks for the era first, if the server can be reached.
    pub(crate) fn try_handshake(&mut self, now: Moment) {
        if self.session.renewal().is_none() {
            return;
        }
        if !self.reach.is_connected() {
            return self.handshake_awaits_link(now);
        }
        if self.must_await_credentials(now) {
            return self.enter_stage(now, Stage::AwaitCredentials);
        }
        let generation = self.session.next_generation();
        let wire_id = self.calls.next_wire_id();
        let opens = self.opens(now);
        let target = self.session.renewal().and_then(|renewal| renewal.target.clone());
        let to = Address { generation, target, carrier: opens.carrier(), ..Address::default() };
        let attempt = match opens {
            Opens::Discover => self.send_discover(wire_id, to),
            Opens::Initialize(_) => {
                let body = self.initialize_body(wire_id);
                self.request(Owner::Handshake, Verb::Post { body }, to)
            }
        };
        let limit = match opens {
            Opens::Discover => renewal::DISCOVER_LIMIT,
            Opens::Initialize(_) => self.session.start_limit,
        };
        let (until, credentials) = (now + limit, self.credentials.current());
        let head = None;
        let opening = Opening { opens, attempt, wire_id, generation, credentials, until, head };
        self.enter_stage(now, Stage::Opening(opening));
    }

    fn initialize_body(&self, wire_id: u64) -> Bytes {
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"clientInfo":{}}}"#,
            self.session.offered,
            self.session.identity.capabilities.as_str(),
            self.session.identity.info.as_str(),
        );
        let params = Json::new(params).expect("made of valid JSON");
        Params::new(Some(params), false).request_body(wire_id, "initialize")
    }

    fn enter_stage(&mut self, now: Moment, stage: Stage) {
        if let Some(renewal) = self.session.renewal() {
            renewal.stage = stage;
            let due = renewal.due();
            self.timers.set(Timer::Renewal, due);
            self.review_session_waiters(now);
        }
    }

    fn handshake_awaits_link(&mut self, now: Moment) {
        self.enter_stage(now, Stage::AwaitLink);
        self.drive_dial(now);
    }

    /// The revision agreed on, as far as a handshake has come.
    pub(crate) fn agreed_version(&self) -> Option<Version> {
        match &self.session.session {
            Session::Absent => None,
            Session::Ready(ready) => Some(ready.version),
            Session::Renewing(renewal) => match &renewal.stage {
                Stage::Initialized { ready, .. } => Some(ready.version),
                _ => None,
            },
        }
    }

    /// The head of a handshake's answer.
    pub(crate) fn handshake_head(&mut self, now: Moment, head: AnswerHead) {
        let Some(renewal) = self.session.renewal() else { return };
        match &mut renewal.stage {
            Stage::Opening(opening) => opening.head = Some(head),
            Stage::Initialized { attempt, ready, .. } => {
                let (attempt, ready) = (*attempt, ready.clone());
                self.drain(attempt);
                if head.status.is_success() {
                    return self.become_ready(now, ready);
                }
                self.leave_unused(now, ready.address);
                self.initialized_refused(now, &head);
            }
            _ => {}
        }
    }

    /// The server made a session that we will not use.
    pub(crate) fn leave_unused(&mut self, now: Moment, session: Address) {
        if session.session.is_some() {
            self.say_goodbye(now, session);
        }
    }

    fn initialized_refused(&mut self, now: Moment, head: &AnswerHead) {
        let reason = Reason::Status(head.status);
        match status::is_refused_for_good(head.status) {
            true => {
                let ending = Ending::new(Kind::rejected(head.status), reason);
                self.fail_session_waiters(now, &ending);
            }
            false => self.handshake_failed(now, head.retry_after, reason),
        }
    }

    /// The body of the first answer.
    pub(crate) fn handshake_body(&mut self, now: Moment, body: &Bytes) {
        let Some(Stage::Opening(opening)) = self.session.renewal().map(|it| &it.stage) else {
            return;
        };
        let Some(head) = opening.head.clone() else { return };
        let carried = match opening.opens {
            Opens::Discover => Carried::Stateless,
            Opens::Initialize(_) => Carried::Handshake,
        };
        let asked = Asked { wire_id: opening.wire_id, carried, assume_unexecuted: &[] };
        let generation = opening.generation;
        let answer = read_post(&head, body, asked);
        self.take_in_all(now, Owner::Handshake, generation, answer.others);
        let said = self.quoted(answer.said);
        if let Some(renewal) = self.session.renewal() {
            renewal.said = said;
        }
        self.opening_answered(now, &head, answer.reading, answer.named);
    }

    /// A message on the stream of the first answer. Returns whether it was the answer.
    pub(crate) fn handshake_heard(&mut self, now: Moment, message: &Message) -> bool {
        let Some(Stage::Opening(opening)) = self.session.renewal().map(|it| &it.stage) else {
            return false;
        };
        let Message::Response { id: Some(id), answer } = message else { return false };
        if id.number() != Some(opening.wire_id) {
            return false;
        }
        let (attempt, head) = (opening.attempt, opening.head.clone());
        self.drain(attempt);
        if let Some(head) = head {
            let reading = PostReading::Answer(answer.clone());
            self.opening_answered(now, &head, reading, Some(answer.clone()));
        }
        true
    }

    fn opening_answered(
        &mut self,
        now: Moment,
        head: &AnswerHead,
        reading: PostReading,
        named: Option<Answer>,
    ) {
        let Some(Stage::Opening(opening)) = self.session.renewal().map(|it| &it.stage) else {
            return;
        };
        let opens = opening.opens;
        if let Some(renewal) = self.session.renewal() {
            renewal.has_spoken |= named.is_some();
        }
        match opens {
            Opens::Discover => self.discovered(now, head, reading, named),
            Opens::Initialize(Carrier::HttpSse) => self.last_resort_answered(now, head, reading),
            Opens::Initialize(Carrier::StreamableHttp) => {
                self.first_try_answered(now, head, reading)
            }
        }
    }

    /// What `initialize` may meet.
    pub(crate) fn initialize_answered(
        &mut self,
        now: Moment,
        head: &AnswerHead,
        reading: PostReading,
    ) {
        let may_tell = !head.status.is_server_error() && !status::is_guard(head.status);
        if may_tell && self.doubts_era(now, &reading) {
            return;
        }
        match reading {
            PostReading::Answer(Answer::Error(_)) if head.status.is_server_error() => {
                self.handshake_failed(now, head.retry_after, Reason::Status(head.status));
            }
            PostReading::Answer(Answer::Error(_)) if status::is_guard(head.status) => {
                let ending = Ending::new(Kind::rejected(head.status), Reason::Status(head.status));
                self.fail_session_waiters(now, &ending);
            }
            PostReading::Answer(answer) => self.initialize_replied(now, head, &answer),
            PostReading::Deferred { status, hint, .. } => {
                self.handshake_deferred(now, status, hint);
            }
            PostReading::Interrupted { status, hint } => {
                self.handshake_failed(now, hint, Reason::Status(status));
            }
            PostReading::Rejected(status) if self.may_pass(status) => {
                if status::is_not_found(status) {
                    // Nobody knows who says so: the next try begins with the era.
                    self.session.era.forget();
                }
                self.handshake_failed(now, head.retry_after, Reason::Status(status));
            }
            PostReading::Suspected(_) => {
                self.handshake_failed(now, None, Reason::Status(head.status));
            }
            PostReading::Unauthorized { .. } => self.handshake_unauthorized(now, head, 1),
            PostReading::NeedsScope { .. } => {
                self.handshake_unauthorized(now, head, MOST_STEP_UPS);
            }
            PostReading::Redirected(to, status) => self.handshake_redirected(now, to, status),
            PostReading::Rejected(status) => {
                let ending = Ending::new(Kind::rejected(status), Reason::Status(status));
                self.fail_session_waiters(now, &ending);
            }
            PostReading::Accepted => {
                let reason = Reason::Rule("`initialize` was accepted but not answered");
                self.fail_session_waiters(now, &Ending::new(Kind::PeerMisbehaved, reason));
            }
            PostReading::Misbehaved(why) => {
                let why = if head.content == Content::Html { "it is a web page" } else { why };
                let ending = Ending::new(Kind::PeerMisbehaved, Reason::Rule(why));
                self.fail_session_waiters(now, &ending);
            }
        }
    }

    /// Whether a refused `initialize` is worth another try. A server that was here comes back; where none
    /// ever was, the path is wrong.
    fn may_pass(&self, status: StatusCode) -> bool {
        let has_spoken =
            matches!(&self.session.session, Session::Renewing(renewal) if renewal.has_spoken);
        match status::is_no_server_here(status) {
            true => self.session.had_session || has_spoken,
            false => status.is_server_error(),
        }
    }

    fn initialize_replied(&mut self, now: Moment, head: &AnswerHead, answer: &Answer) {
        let Some(renewal) = self.session.renewal() else { return };
        let Stage::Opening(Opening { generation, opens, .. }) = renewal.stage else { return };
        let (target, carrier) = (renewal.target.clone(), opens.carrier());
        let session = head.session.clone();
        let address = Address { generation, session, version: None, target, carrier };
        match renewal::agreed_version(answer) {
            Ok(version) => {
                self.session.era.gave_a_session();
                let server = Some(answer.json().clone());
                let ready = Ready::new(version, address, server);
                self.send_initialized(now, Ready { home: head.connection, ..ready });
            }
            Err(words) => {
                self.leave_unused(now, address);
                if self.agreed_on_no_session(now, answer) {
                    return;
                }
                let words = self.credentials.secrets().masked(&words);
                let ending = Ending::new(Kind::Incompatible, Reason::Said(words.into()));
                self.fail_session_waiters(now, &ending);
            }
        }
    }

    fn send_initialized(&mut self, now: Moment, ready: Ready) {
        let body = notification_body("notifications/initialized", None);
        let to = ready.address.clone();
        let attempt = self.request(Owner::Handshake, Verb::Post { body }, to);
        let until = now + renewal::LIMIT;
        self.enter_stage(now, Stage::Initialized { attempt, until, ready });
    }

    fn handshake_deferred(&mut self, now: Moment, status: StatusCode, hint: Option<Duration>) {
        let Some(renewal) = self.session.renewal() else { return };
        renewal.deferrals += 1;
        let ending = Ending::new(Kind::rejected(status), Reason::Status(status));
        let ending = Ending { retry_after: hint, ..ending };
        let is_limited = !status::is_unavailable(status);
        if is_limited && renewal.deferrals > renewal::MOST_DEFERRALS {
            return self.fail_session_waiters(now, &ending);
        }
        self.handshake_failed(now, hint, Reason::Status(status));
    }

    fn handshake_unauthorized(&mut self, now: Moment, head: &AnswerHead, most_rounds: u32) {
        let Some(renewal) = self.session.renewal() else { return };
        let Stage::Opening(Opening { credentials, .. }) = renewal.stage else { return };
        if renewal.credential_rounds >= most_rounds {
            let ending = Ending::new(Kind::Unauthorized, Reason::Status(head.status));
            return self.fail_session_waiters(now, &ending);
        }
        renewal.credential_rounds += 1;
        self.enter_stage(now, Stage::AwaitCredentials);
        self.renew_credentials(now, credentials, head.challenge.clone());
    }

    fn handshake_redirected(&mut self, now: Moment, to: Option<Redirect>, status: StatusCode) {
        let Some(renewal) = self.session.renewal() else { return };
        match follow(to, status, renewal.redirects) {
            Ok(path) => {
                renewal.redirects += 1;
                renewal.target = Some(path);
                self.try_handshake(now);
            }
            Err(reason) => {
                let ending = Ending::new(Kind::rejected(status), reason);
                self.fail_session_waiters(now, &ending);
            }
        }
    }

    /// A handshake's attempt failed below HTTP, or ended without an answer.
    pub(crate) fn handshake_broke(&mut self, now: Moment, failure: Failure) {
        let is_lasting = failure.cause.is_lasting(self.reach.connected_before());
        self.leave_half_made(now);
        if let Some(renewal) = self.session.renewal() {
            renewal.said = None;
        }
        if failure.delivery == Delivery::NotSent {
            self.session.uncount_handshake();
        }
        match failure.delivery {
            Delivery::NotSent if is_lasting => self.fail_unreachable(now, &failure),
            Delivery::NotSent => {
                if let Some(renewal) = self.session.renewal() {
                    renewal.last = Reason::Transport(failure);
                }
                self.breaker_probe_failed_unsent(now);
                self.handshake_awaits_link(now);
            }
            _ if failure.cause.is_misbehaviour() => {
                self.fail_session_waiters(now, &Ending::of_misbehaviour(failure));
            }
            _ if self.asked_in_vain(now) => {}
            _ => self.handshake_failed(now, None, Reason::Transport(failure)),
        }
    }

    /// A session that the server made and that will not be used, for `initialized` did not get through.
    fn leave_half_made(&mut self, now: Moment) {
        let stage = self.session.renewal().map(|renewal| &renewal.stage);
        if let Some(Stage::Initialized { ready, .. }) = stage {
            let session = ready.address.clone();
            self.leave_unused(now, session);
        }
    }

    /// A question for the era that was not answered is as good as a useless answer. Returns whether the
    /// handshake goes on without one.
    fn asked_in_vain(&mut self, now: Moment) -> bool {
        let stage = self.session.renewal().map(|renewal| &renewal.stage);
        matches!(stage, Some(Stage::Opening(opening)) if opening.opens == Opens::Discover)
            && self.guess_era(now)
    }

    /// A try failed in a way that time may heal: again, for as long as somebody waits.
    pub(crate) fn handshake_failed(&mut self, now: Moment, hint: Option<Duration>, reason: Reason) {
        let Some(renewal) = self.session.renewal() else { return };
        let next = renewal.pause(now, hint, reason.clone(), &mut self.dice);
        self.reach.note_failure(now, reason.clone());
        self.tell(Event::SessionRenewalFailed { reason, next });
        self.breaker_probe_failed_unsent(now);
        self.enter_stage(now, Stage::Paused { until: next });
    }

    /// A handshake took too long, or its pause is over.
    pub(crate) fn renewal_due(&mut self, now: Moment) {
        let is_wanted = self.session_is_wanted();
        let Some(renewal) = self.session.renewal() else { return };
        match renewal.stage {
            Stage::Paused { .. } if is_wanted => self.try_handshake(now),
            Stage::Paused { .. } => self.session.session = Session::Absent,
            Stage::Opening(Opening { attempt, opens, .. }) => {
                self.abandon(now, attempt, opens.carrier());
                self.handshake_broke(now, Failure::unknown(Cause::TimedOut));
            }
            Stage::Initialized { attempt, .. } => {
                self.abort(attempt);
                self.handshake_broke(now, Failure::unknown(Cause::TimedOut));
            }
            Stage::AwaitCredentials | Stage::AwaitLink => {}
        }
    }
}
