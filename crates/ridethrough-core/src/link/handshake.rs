//! Making a session for all who wait: `initialize`, `initialized`, restore, release.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;

use super::Link;
use super::attempts::Owner;
use super::renewal::{self, Opening, Opens, Ready, Renewal, Session, Stage};
use super::timers::Timer;
use crate::era::{Carrier, Version};
use crate::event::Event;
use crate::exchange::{Asked, Ending, MOST_STEP_UPS, PostReading, follow, read_post};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::{AnswerHead, Redirect};
use crate::message::{Answer, Json, Message, Params, notification_body};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Address, Verb};
use crate::session::Carried;

impl Link {
    /// Begins a handshake, unless there is a session or one is being made.
    pub(super) fn ensure_session(&mut self, now: Moment) {
        if self.closing.is_begun() {
            return;
        }
        match self.session {
            Session::Absent => {
                self.session = Session::Renewing(Box::new(Renewal::new(now)));
                self.try_handshake(now);
            }
            // The connect loop may rest because nobody waited until now.
            Session::Renewing(_) => self.drive_dial(now),
            Session::Ready(_) => {}
        }
    }

    /// Sends `initialize`, or asks for the era first, if the server can be reached.
    pub(super) fn try_handshake(&mut self, now: Moment) {
        if self.session.renewal().is_none() {
            return;
        }
        if !self.dial.is_connected() {
            return self.handshake_awaits_link(now);
        }
        if self.must_await_credentials(now) {
            return self.enter_stage(now, Stage::AwaitCredentials);
        }
        self.ids.generation = self.ids.generation.next();
        let generation = self.ids.generation;
        let wire_id = self.next_wire_id();
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
        let (until, credentials) = (now + renewal::LIMIT, self.credentials.current());
        let head = None;
        let opening = Opening { opens, attempt, wire_id, generation, credentials, until, head };
        self.enter_stage(now, Stage::Opening(opening));
    }

    fn initialize_body(&self, wire_id: u64) -> Bytes {
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"clientInfo":{}}}"#,
            self.offered,
            self.identity.capabilities.as_str(),
            self.identity.info.as_str(),
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
    pub(super) fn agreed_version(&self) -> Option<Version> {
        match &self.session {
            Session::Absent => None,
            Session::Ready(ready) => Some(ready.version),
            Session::Renewing(renewal) => match &renewal.stage {
                Stage::Initialized { ready, .. } => Some(ready.version),
                _ => None,
            },
        }
    }

    /// The head of a handshake's answer.
    pub(super) fn handshake_head(&mut self, now: Moment, head: AnswerHead) {
        let Some(renewal) = self.session.renewal() else { return };
        match &mut renewal.stage {
            Stage::Opening(opening) => opening.head = Some(head),
            Stage::Initialized { attempt, ready, .. } => {
                let (attempt, ready) = (*attempt, ready.clone());
                self.drain(attempt);
                if head.status.is_success() {
                    return self.become_ready(now, ready);
                }
                if ready.address.session.is_some() {
                    // The server made a session that we will not use.
                    self.say_goodbye(now, ready.address);
                }
                self.handshake_failed(now, head.retry_after, Reason::Status(head.status));
            }
            _ => {}
        }
    }

    /// The body of the first answer.
    pub(super) fn handshake_body(&mut self, now: Moment, body: &Bytes) {
        let Some(Stage::Opening(opening)) = self.session.renewal().map(|it| &it.stage) else {
            return;
        };
        let Some(head) = opening.head.clone() else { return };
        let carried = match opening.opens {
            Opens::Discover => Carried::Stateless,
            Opens::Initialize(_) => Carried::NoSession,
        };
        let asked = Asked { wire_id: opening.wire_id, carried, assume_unexecuted: &[] };
        let generation = opening.generation;
        let answer = read_post(&head, body, asked);
        self.take_in_all(now, Owner::Handshake, generation, answer.others);
        self.opening_answered(now, &head, answer.reading);
    }

    /// A message on the stream of the first answer. Returns whether it was the answer.
    pub(super) fn handshake_heard(&mut self, now: Moment, message: &Message) -> bool {
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
            self.opening_answered(now, &head, PostReading::Answer(answer.clone()));
        }
        true
    }

    fn opening_answered(&mut self, now: Moment, head: &AnswerHead, reading: PostReading) {
        let Some(Stage::Opening(opening)) = self.session.renewal().map(|it| &it.stage) else {
            return;
        };
        match opening.opens {
            Opens::Discover => self.discovered(now, head, reading),
            Opens::Initialize(Carrier::HttpSse) => self.last_resort_answered(now, head, reading),
            Opens::Initialize(Carrier::StreamableHttp) => {
                self.first_try_answered(now, head, reading)
            }
        }
    }

    /// What `initialize` may meet.
    pub(super) fn initialize_answered(
        &mut self,
        now: Moment,
        head: &AnswerHead,
        reading: PostReading,
    ) {
        if !head.status.is_server_error() && self.doubts_era(now, &reading) {
            return;
        }
        match reading {
            PostReading::Answer(Answer::Error(_)) if head.status.is_server_error() => {
                self.handshake_failed(now, head.retry_after, Reason::Status(head.status));
            }
            PostReading::Answer(answer) => self.initialize_replied(now, head, &answer),
            PostReading::Deferred { status, hint } => self.handshake_deferred(now, status, hint),
            PostReading::Interrupted { status, hint } => {
                self.handshake_failed(now, hint, Reason::Status(status));
            }
            PostReading::Rejected(status)
                if status == StatusCode::NOT_FOUND || status.is_server_error() =>
            {
                if status == StatusCode::NOT_FOUND {
                    // Nobody knows who says so: the next try begins with the era.
                    self.known_era.forget();
                }
                self.handshake_failed(now, head.retry_after, Reason::Status(status));
            }
            PostReading::SessionLost | PostReading::Suspected(_) => {
                self.handshake_failed(now, None, Reason::Status(head.status));
            }
            PostReading::Unauthorized(_) => self.handshake_unauthorized(now, head, 1),
            PostReading::NeedsScope(_) => self.handshake_unauthorized(now, head, MOST_STEP_UPS),
            PostReading::Redirected(to, status) => self.handshake_redirected(now, to, status),
            PostReading::Rejected(status) => {
                let kind = Kind::Rejected { status: status.as_u16() };
                self.fail_session_waiters(now, &Ending::new(kind, Reason::Status(status)));
            }
            PostReading::Accepted => {
                let reason = Reason::Rule("`initialize` was accepted but not answered");
                self.fail_session_waiters(now, &Ending::new(Kind::PeerMisbehaved, reason));
            }
            PostReading::Misbehaved(why) => {
                let ending = Ending::new(Kind::PeerMisbehaved, Reason::Rule(why));
                self.fail_session_waiters(now, &ending);
            }
        }
    }

    fn initialize_replied(&mut self, now: Moment, head: &AnswerHead, answer: &Answer) {
        let Some(renewal) = self.session.renewal() else { return };
        let Stage::Opening(Opening { generation, opens, .. }) = renewal.stage else { return };
        let (target, carrier) = (renewal.target.clone(), opens.carrier());
        match renewal::agreed_version(answer) {
            Ok(version) => {
                let session = head.session.clone();
                let address = Address { generation, session, version: None, target, carrier };
                let server = Some(answer.json().clone());
                self.send_initialized(now, Ready::new(version, address, server));
            }
            Err(words) => {
                let ending = Ending::new(Kind::Incompatible, Reason::Said(words));
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
        let kind = Kind::Rejected { status: status.as_u16() };
        let ending = Ending { retry_after: hint, ..Ending::new(kind, Reason::Status(status)) };
        let is_limited = status != StatusCode::SERVICE_UNAVAILABLE;
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
                let kind = Kind::Rejected { status: status.as_u16() };
                self.fail_session_waiters(now, &Ending::new(kind, reason));
            }
        }
    }

    /// A handshake's attempt failed below HTTP, or ended without an answer.
    pub(super) fn handshake_broke(&mut self, now: Moment, failure: Failure) {
        let is_lasting = failure.cause.is_lasting(self.dial.connected_before());
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
                let ending = Ending::new(Kind::PeerMisbehaved, Reason::Transport(failure));
                self.fail_session_waiters(now, &ending);
            }
            _ => self.handshake_failed(now, None, Reason::Transport(failure)),
        }
    }

    /// A try failed in a way that time may heal: again, for as long as somebody waits.
    fn handshake_failed(&mut self, now: Moment, hint: Option<Duration>, reason: Reason) {
        let Some(renewal) = self.session.renewal() else { return };
        let next = renewal.pause(now, hint, reason.clone(), &mut self.dice);
        self.note_failure(now, reason.clone());
        self.tell(Event::SessionRenewalFailed { reason, next });
        self.breaker_probe_failed_unsent(now);
        self.enter_stage(now, Stage::Paused { until: next });
    }

    /// A handshake took too long, or its pause is over.
    pub(super) fn renewal_due(&mut self, now: Moment) {
        let is_wanted = self.session_is_wanted();
        let Some(renewal) = self.session.renewal() else { return };
        match renewal.stage {
            Stage::Paused { .. } if is_wanted => self.try_handshake(now),
            Stage::Paused { .. } => self.session = Session::Absent,
            Stage::Opening(Opening { attempt, opens, .. }) => {
                self.abandon(now, attempt, opens.carrier());
                let timed_out = Failure::unknown(Cause::TimedOut);
                self.handshake_failed(now, None, Reason::Transport(timed_out));
            }
            Stage::Initialized { attempt, .. } => {
                self.abort(attempt);
                let timed_out = Failure::unknown(Cause::TimedOut);
                self.handshake_failed(now, None, Reason::Transport(timed_out));
            }
            Stage::AwaitCredentials | Stage::AwaitLink => {}
        }
    }
}
