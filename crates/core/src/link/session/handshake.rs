//! The handshake, made once for all calls that wait: `initialize`, `initialized`, restore, release.

use std::time::Duration;

use bytes::Bytes;

use super::Sessions;
use super::renewal::{self, Opening, Opens, Ready, Renewal, Session, Stage};
use crate::answer::{Asked, PostReading, read_post, status};
use crate::era::{Carrier, Version};
use crate::event::Event;
use crate::exchange::Ending;
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::headers::Headers;
use crate::link::attempts::Owner;
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::link::{HANDSHAKE_LIMIT, Link};
use crate::message::{Answer, Json, Message, Params, notification_body};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::Address;
use crate::session::Carried;

impl Sessions {
    /// Returns the revision agreed on, as far as the handshake has come.
    pub(crate) fn agreed_version(&self) -> Option<Version> {
        match &self.state {
            Session::Absent => None,
            Session::Ready(ready) => Some(ready.version),
            Session::Renewing(renewal) => match &renewal.stage {
                Stage::Initialized { ready, .. } => Some(ready.version),
                _ => None,
            },
        }
    }

    pub(crate) fn initialize_body(&self, wire_id: u64) -> Bytes {
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"clientInfo":{}}}"#,
            self.offered,
            self.identity.capabilities.as_str(),
            self.identity.info.as_str(),
        );
        let params = Json::new(params).expect("made of valid JSON");
        Params::new(Some(params), false).request_body(wire_id, "initialize")
    }

    /// Deletes a session that the server made and that will not be used.
    pub(crate) fn leave_unused(&mut self, cx: &mut Context, now: Moment, session: Address) {
        if session.session.is_some() {
            self.say_goodbye(cx, now, session);
        }
    }

    /// Deletes the session of a handshake whose `initialized` did not get through.
    pub(crate) fn leave_half_made(&mut self, cx: &mut Context, now: Moment) {
        let stage = self.renewal().map(|renewal| &renewal.stage);
        if let Some(Stage::Initialized { ready, .. }) = stage {
            let session = ready.address.clone();
            self.leave_unused(cx, now, session);
        }
    }
}

impl Link {
    /// Begins a handshake, unless there is a session or one is being made.
    pub(crate) fn ensure_session(&mut self, now: Moment) {
        if self.closing.is_begun() {
            return;
        }
        match self.session.state {
            Session::Absent => {
                self.session.state =
                    Session::Renewing(Box::new(Renewal::new(now, self.session.had_session)));
                self.try_handshake(now);
            }
            // The connect loop may have stopped because nothing waited for it.
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
        let opens = self.session.opens(now);
        let target = self.session.renewal().and_then(|renewal| renewal.target.clone());
        let to = Address { generation, target, carrier: opens.carrier(), ..Address::default() };
        let attempt = match opens {
            Opens::Discover => self.session.send_discover(&mut self.cx, wire_id, to),
            Opens::Initialize(_) => {
                let body = self.session.initialize_body(wire_id);
                self.session.send(&mut self.cx, body, to, Headers::default())
            }
        };
        let limit = match opens {
            Opens::Discover => renewal::DISCOVER_LIMIT,
            Opens::Initialize(_) => self.session.start_limit,
        };
        let (until, credentials) = (now + limit, self.cx.credentials);
        let head = None;
        let opening = Opening { opens, attempt, wire_id, generation, credentials, until, head };
        self.enter_stage(now, Stage::Opening(opening));
    }

    pub(super) fn enter_stage(&mut self, now: Moment, stage: Stage) {
        if let Some(renewal) = self.session.renewal() {
            renewal.stage = stage;
            let due = renewal.due();
            self.cx.timers.set(Timer::Renewal, due);
            self.review_session_waiters(now);
        }
    }

    fn handshake_awaits_link(&mut self, now: Moment) {
        self.enter_stage(now, Stage::AwaitLink);
        self.drive_dial(now);
    }

    /// Handles the head of an answer to a handshake.
    pub(crate) fn handshake_head(&mut self, now: Moment, head: AnswerHead) {
        let Some(renewal) = self.session.renewal() else { return };
        match &mut renewal.stage {
            Stage::Opening(opening) => opening.head = Some(head),
            Stage::Initialized { attempt, ready, .. } => {
                let (attempt, ready) = (*attempt, ready.clone());
                self.cx.drain(attempt);
                if head.status.is_success() {
                    return self.become_ready(now, ready);
                }
                self.session.leave_unused(&mut self.cx, now, ready.address);
                self.initialized_refused(now, &head);
            }
            _ => {}
        }
    }

    fn initialized_refused(&mut self, now: Moment, head: &AnswerHead) {
        let reason = Reason::Status(head.status);
        if status::is_refused_for_good(head.status) {
            let ending = Ending::new(Kind::rejected(head.status), reason);
            self.fail_session_waiters(now, &ending);
        } else {
            self.handshake_failed(now, head.retry_after, reason)
        }
    }

    /// Handles the body of the answer to the first request.
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
        let refusal = self.refusal_in(&head, answer.said);
        if let Some(renewal) = self.session.renewal() {
            renewal.last_refusal = refusal;
        }
        self.opening_answered(now, &head, answer.reading, answer.named);
    }

    /// Handles a message on the stream that answers the first request. Returns whether it was the answer.
    pub(crate) fn handshake_heard(&mut self, now: Moment, message: &Message) -> bool {
        let Some(Stage::Opening(opening)) = self.session.renewal().map(|it| &it.stage) else {
            return false;
        };
        let Message::Response { id: Some(id), answer } = message else { return false };
        if id.number() != Some(opening.wire_id) {
            return false;
        }
        let (attempt, head) = (opening.attempt, opening.head.clone());
        self.cx.drain(attempt);
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

    pub(super) fn send_initialized(&mut self, now: Moment, ready: Ready) {
        let body = notification_body("notifications/initialized", None);
        let to = ready.address.clone();
        let attempt = self.session.send(&mut self.cx, body, to, Headers::default());
        let until = now + HANDSHAKE_LIMIT;
        self.enter_stage(now, Stage::Initialized { attempt, until, ready });
    }

    /// Handles an attempt of a handshake that failed below HTTP or ended without an answer.
    pub(crate) fn handshake_broke(&mut self, now: Moment, failure: Failure) {
        let is_lasting = failure.cause.is_lasting(self.reach.connected_before());
        self.session.leave_half_made(&mut self.cx, now);
        let mut was_answered = false;
        if let Some(renewal) = self.session.renewal() {
            renewal.last_refusal = None;
            was_answered = matches!(renewal.stage, Stage::Initialized { .. });
        }
        if failure.delivery == Delivery::NotSent {
            self.session.uncount_handshake();
        }
        match failure.delivery {
            Delivery::NotSent if is_lasting => self.fail_unreachable(now, &failure),
            // The answer to `initialize` ended the outage, so the connect loop would not pause either.
            Delivery::NotSent if was_answered => {
                self.handshake_failed(now, None, Reason::Transport(failure));
            }
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

    /// Counts a question for the era that was not answered as a useless answer. Returns whether the handshake
    /// goes on with `initialize`.
    fn asked_in_vain(&mut self, now: Moment) -> bool {
        let stage = self.session.renewal().map(|renewal| &renewal.stage);
        matches!(stage, Some(Stage::Opening(opening)) if opening.opens == Opens::Discover)
            && self.guess_era(now)
    }

    /// Pauses after a failure that may pass. The handshake is tried again for as long as something waits for
    /// it.
    pub(crate) fn handshake_failed(&mut self, now: Moment, hint: Option<Duration>, reason: Reason) {
        let Some(renewal) = self.session.renewal() else { return };
        let next = renewal.pause(now, hint, reason.clone(), &mut self.cx.rng);
        self.reach.note_failure(now, reason.clone());
        self.cx.tell(Event::SessionRenewalFailed { reason, next });
        self.breaker_probe_failed_unsent(now);
        self.enter_stage(now, Stage::Paused { until: next });
    }

    /// Handles a handshake that took too long, or whose pause is over.
    pub(crate) fn renewal_due(&mut self, now: Moment) {
        let is_wanted = self.session_is_wanted();
        let Some(renewal) = self.session.renewal() else { return };
        match renewal.stage {
            Stage::Paused { .. } if is_wanted => self.try_handshake(now),
            Stage::Paused { .. } => self.session.state = Session::Absent,
            Stage::Opening(Opening { attempt, opens, .. }) => {
                self.session.abandon(&mut self.cx, now, attempt, opens.carrier());
                self.handshake_broke(now, Failure::unknown(Cause::TimedOut));
            }
            Stage::Initialized { attempt, .. } => {
                self.cx.abort(attempt);
                self.handshake_broke(now, Failure::unknown(Cause::TimedOut));
            }
            Stage::AwaitCredentials | Stage::AwaitLink => {}
        }
    }
}
