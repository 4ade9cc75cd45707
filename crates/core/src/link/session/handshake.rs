//! The handshake, made once for all calls that wait: `initialize`, `initialized`, restore, release.

use std::time::Duration;

use bytes::Bytes;
use ridethrough_wire::era::{Carrier, Version};
use ridethrough_wire::headers::Headers;
use ridethrough_wire::message::{Json, Message, Params, notification_body};

use super::Sessions;
use super::renewal::{self, Opening, Opens, Ready, Renewal, Session, Stage};
use crate::answer::{Asked, PostReading, read_post, status};
use crate::event::Event;
use crate::exchange::Ending;
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::link::HANDSHAKE_LIMIT;
use crate::link::context::Context;
use crate::link::credentials::Credentials;
use crate::link::effects::{
    CallEffect, HealthEffect, MessageSource, OpeningAnswer, ReachEffect, SessionEffect,
};
use crate::link::reach::{Reach, fail_unreachable};
use crate::link::timers::Timer;
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
    pub(crate) fn leave_unused(&mut self, cx: &mut Context, session: Address) {
        if session.session.is_some() {
            self.say_goodbye(cx, session);
        }
    }

    /// Deletes the session of a handshake whose `initialized` did not get through.
    pub(crate) fn leave_half_made(&mut self, cx: &mut Context) {
        let stage = self.renewal().map(|renewal| &renewal.stage);
        if let Some(Stage::Initialized { ready, .. }) = stage {
            let session = ready.address.clone();
            self.leave_unused(cx, session);
        }
    }

    /// Begins a handshake, unless there is a session or one is being made.
    pub(crate) fn ensure(&mut self, cx: &mut Context) {
        if cx.is_closing() {
            return;
        }
        match self.state {
            Session::Absent => {
                self.state = Session::Renewing(Box::new(Renewal::new(cx.now, self.had_session)));
                cx.then(SessionEffect::TryHandshake);
            }
            // The connect loop may have stopped because nothing waited for it.
            Session::Renewing(_) => cx.then(ReachEffect::Drive),
            Session::Ready(_) => {}
        }
    }

    /// Sends `initialize`, or asks for the era first, if the server can be reached.
    pub(crate) fn try_handshake(
        &mut self,
        cx: &mut Context,
        reach: &Reach,
        credentials: &mut Credentials,
    ) {
        let now = cx.now;
        if self.renewal().is_none() {
            return;
        }
        if !reach.lets_control_out() {
            return self.await_link(cx);
        }
        if credentials.must_await(cx) {
            return self.enter_stage(cx, Stage::AwaitCredentials);
        }
        let generation = self.next_generation();
        let wire_id = cx.next_wire_id();
        let opens = self.opens(now);
        let target = self.renewal().and_then(|renewal| renewal.target.clone());
        let to = Address { generation, target, carrier: opens.carrier(), ..Address::default() };
        let attempt = match opens {
            Opens::Discover => self.send_discover(cx, wire_id, to),
            Opens::Initialize(_) => {
                let body = self.initialize_body(wire_id);
                self.send(cx, body, to, Headers::default())
            }
        };
        let limit = match opens {
            Opens::Discover => renewal::DISCOVER_LIMIT,
            Opens::Initialize(_) => self.start_limit,
        };
        let (until, credentials) = (now + limit, cx.credentials);
        let head = None;
        let opening = Opening { opens, attempt, wire_id, generation, credentials, until, head };
        self.enter_stage(cx, Stage::Opening(opening));
    }

    /// Moves the handshake on. The calls that wait for it may wait in vain from here on.
    pub(super) fn enter_stage(&mut self, cx: &mut Context, stage: Stage) {
        if let Some(renewal) = self.renewal() {
            renewal.stage = stage;
            cx.timers.set(Timer::Renewal, renewal.due());
            cx.then(CallEffect::ReviewSessionWaiters);
        }
    }

    fn await_link(&mut self, cx: &mut Context) {
        self.enter_stage(cx, Stage::AwaitLink);
        cx.then(ReachEffect::Drive);
    }

    /// Goes on with a handshake that waited for the server to be reached.
    pub(crate) fn link_came(&self, cx: &mut Context) {
        if self.awaits_link() {
            cx.then(SessionEffect::TryHandshake);
        }
    }

    /// Goes on with a handshake that waited for credentials.
    pub(crate) fn credentials_came(&self, cx: &mut Context) {
        if self.awaits_credentials() {
            cx.then(SessionEffect::TryHandshake);
        }
    }

    /// Ends a handshake that waits for credentials, because there are none.
    pub(crate) fn credentials_failed(&mut self, cx: &mut Context, ending: Ending) {
        if self.awaits_credentials() {
            self.fail(cx, ending);
        }
    }

    /// Handles the head of an answer to a handshake.
    pub(crate) fn handshake_head(&mut self, cx: &mut Context, head: AnswerHead) {
        let Some(renewal) = self.renewal() else { return };
        match &mut renewal.stage {
            Stage::Opening(opening) => opening.head = Some(head),
            Stage::Initialized { attempt, ready, .. } => {
                let (attempt, ready) = (*attempt, ready.clone());
                cx.drain(attempt);
                if head.status.is_success() {
                    return self.become_ready(cx, ready);
                }
                self.leave_unused(cx, ready.address);
                self.initialized_refused(cx, &head);
            }
            _ => {}
        }
    }

    fn initialized_refused(&mut self, cx: &mut Context, head: &AnswerHead) {
        let reason = Reason::Status(head.status);
        if status::is_refused_for_good(head.status) {
            self.fail(cx, Ending::new(Kind::rejected(head.status), reason));
        } else {
            self.handshake_failed(cx, head.retry_after, reason)
        }
    }

    /// Handles the body of the answer to the first request.
    pub(crate) fn handshake_body(&mut self, cx: &mut Context, body: &Bytes) {
        let Some(Stage::Opening(opening)) = self.renewal().map(|it| &it.stage) else {
            return;
        };
        let Some(head) = opening.head.clone() else { return };
        let carried = match opening.opens {
            Opens::Discover => Carried::Stateless,
            Opens::Initialize(_) => Carried::Handshake,
        };
        let asked = Asked::own(opening.wire_id, carried);
        let generation = opening.generation;
        let answer = read_post(&head, body, asked);
        cx.take_in_all(MessageSource::of_session(generation), answer.others);
        let refusal = cx.refusal_in(&head, answer.said);
        if let Some(renewal) = self.renewal() {
            renewal.last_refusal = refusal;
        }
        let (reading, named) = (answer.reading, answer.named);
        cx.then(SessionEffect::Opened(Box::new(OpeningAnswer { head, reading, named })));
    }

    /// Handles a message on the stream that answers the first request. Returns whether it was the answer.
    pub(crate) fn handshake_heard(&mut self, cx: &mut Context, message: &Message) -> bool {
        let Some(Stage::Opening(opening)) = self.renewal().map(|it| &it.stage) else {
            return false;
        };
        let Message::Response { id: Some(id), answer } = message else { return false };
        if id.number() != Some(opening.wire_id) {
            return false;
        }
        let (attempt, head) = (opening.attempt, opening.head.clone());
        cx.drain(attempt);
        if let Some(head) = head {
            let (reading, named) = (PostReading::Answer(answer.clone()), Some(answer.clone()));
            cx.then(SessionEffect::Opened(Box::new(OpeningAnswer { head, reading, named })));
        }
        true
    }

    /// Handles the answer to the first request.
    pub(crate) fn opened(&mut self, cx: &mut Context, answer: OpeningAnswer) {
        let OpeningAnswer { head, reading, named } = answer;
        let Some(renewal) = self.renewal() else { return };
        let Stage::Opening(opening) = &renewal.stage else { return };
        let opens = opening.opens;
        renewal.has_spoken |= named.is_some();
        match opens {
            Opens::Discover => self.discovered(cx, &head, reading, named),
            Opens::Initialize(Carrier::HttpSse) => self.last_resort_answered(cx, &head, reading),
            Opens::Initialize(Carrier::StreamableHttp) => {
                self.first_try_answered(cx, &head, reading)
            }
        }
    }

    pub(super) fn send_initialized(&mut self, cx: &mut Context, ready: Ready) {
        let body = notification_body("notifications/initialized", None);
        let to = ready.address.clone();
        let attempt = self.send(cx, body, to, Headers::default());
        let until = cx.now + HANDSHAKE_LIMIT;
        self.enter_stage(cx, Stage::Initialized { attempt, until, ready });
    }

    /// Handles an attempt of a handshake that failed below HTTP or ended without an answer.
    pub(crate) fn handshake_broke(&mut self, cx: &mut Context, reach: &Reach, failure: Failure) {
        let is_lasting = failure.cause.is_lasting(reach.connected_before());
        self.leave_half_made(cx);
        let mut was_answered = false;
        if let Some(renewal) = self.renewal() {
            renewal.last_refusal = None;
            was_answered = matches!(renewal.stage, Stage::Initialized { .. });
        }
        if failure.delivery == Delivery::NotSent {
            self.uncount_handshake();
        }
        match failure.delivery {
            Delivery::NotSent if is_lasting => fail_unreachable(cx, failure),
            // The answer to `initialize` ended the outage, so the connect loop would not pause either.
            Delivery::NotSent if was_answered => {
                self.handshake_failed(cx, None, Reason::Transport(failure));
            }
            Delivery::NotSent => {
                if let Some(renewal) = self.renewal() {
                    renewal.last = Reason::Transport(failure);
                }
                cx.then(HealthEffect::ProbeNotSent);
                self.await_link(cx);
            }
            _ if failure.cause.is_misbehaviour() => {
                self.fail(cx, Ending::of_misbehaviour(failure));
            }
            _ if self.asked_in_vain(cx) => {}
            _ => self.handshake_failed(cx, None, Reason::Transport(failure)),
        }
    }

    /// Counts a question for the era that was not answered as a useless answer. Returns whether the handshake
    /// goes on with `initialize`.
    fn asked_in_vain(&mut self, cx: &mut Context) -> bool {
        let stage = self.renewal().map(|renewal| &renewal.stage);
        matches!(stage, Some(Stage::Opening(opening)) if opening.opens == Opens::Discover)
            && self.guess_era(cx)
    }

    /// Pauses after a failure that may pass. The handshake is tried again for as long as something waits for
    /// it.
    pub(super) fn handshake_failed(
        &mut self,
        cx: &mut Context,
        hint: Option<Duration>,
        reason: Reason,
    ) {
        let now = cx.now;
        let Some(renewal) = self.renewal() else { return };
        let next = renewal.pause(now, hint, reason.clone(), &mut cx.rng);
        cx.note_failure(reason.clone());
        cx.tell(Event::SessionRenewalFailed { reason, next });
        self.enter_stage(cx, Stage::Paused { until: next });
        cx.then(HealthEffect::ProbeNotSent);
    }

    /// Handles a handshake that took too long, or whose pause is over. `is_wanted` says whether something
    /// waits for a session.
    pub(crate) fn renewal_due(&mut self, cx: &mut Context, reach: &Reach, is_wanted: bool) {
        let Some(renewal) = self.renewal() else { return };
        match renewal.stage {
            Stage::Paused { .. } if is_wanted => cx.then(SessionEffect::TryHandshake),
            Stage::Paused { .. } => self.state = Session::Absent,
            Stage::Opening(Opening { attempt, opens, .. }) => {
                self.abandon(cx, attempt, opens.carrier());
                self.handshake_broke(cx, reach, Failure::unknown(Cause::TimedOut));
            }
            Stage::Initialized { attempt, .. } => {
                cx.abort(attempt);
                self.handshake_broke(cx, reach, Failure::unknown(Cause::TimedOut));
            }
            Stage::AwaitCredentials | Stage::AwaitLink => {}
        }
    }
}
