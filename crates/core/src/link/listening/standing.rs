//! The standing stream as part of the link: opened after a handshake. Its failures never touch calls.

use std::time::Duration;

use ridethrough_wire::era::Era;
use ridethrough_wire::message::Incoming;
use ridethrough_wire::sse;

use super::Listening;
use crate::answer::{get_speaks_of_loss, status};
use crate::event::Event;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, CredentialsId, Generation};
use crate::link::attempts::{NewRequest, Owner};
use crate::link::base::Base;
use crate::link::calls::Calls;
use crate::link::context::Context;
use crate::link::effects::{Effect, ListeningEffect, MessageSource, StreamMessages};
use crate::link::timers::Timer;
use crate::listener::{ListenerState, ListenerVerdict};
use crate::output::{Address, Route, Verb};
use bytes::Bytes;

impl Listening {
    /// Shortens a long pause before the next try, because the server has become reachable.
    pub(crate) fn hurry(&mut self, cx: &mut Context) {
        self.listener.link_is_back(cx.now, &mut cx.rng);
        self.set_alarm(cx);
    }

    pub(super) fn ended(&mut self, cx: &mut Context) {
        let retry = self.listener.ended(cx.now, cx.policy.stable_after, &mut cx.rng);
        cx.tell(Event::ListenerLost { retry });
        self.set_alarm(cx);
    }

    /// Handles the end of an attempt of the stream, which may be the one that was being replaced.
    pub(crate) fn lost(&mut self, cx: &mut Context, attempt: AttemptId) {
        if !self.listener.lost_replaced(cx.now, attempt) {
            self.ended(cx);
        }
    }

    /// Handles a question about the session that found it alive: the stream goes on waiting, if it waited for
    /// that.
    pub(crate) fn session_checked(&mut self, cx: &mut Context) {
        if let Some(retry) = self.listener.session_is_alive(cx.now, &mut cx.rng) {
            cx.tell(Event::ListenerLost { retry });
            self.set_alarm(cx);
        }
    }

    pub(super) fn set_alarm(&self, cx: &mut Context) {
        let alarm = match self.listener.state() {
            ListenerState::Waiting { until } => Some(until),
            ListenerState::Opening { .. } => self.listener.decided_until(),
            _ => None,
        };
        cx.timers.set(Timer::Listener, alarm);
    }

    pub(crate) fn stop(&mut self, cx: &mut Context) {
        for attempt in self.listener.stop(cx.now, cx.policy.stable_after) {
            cx.abort(attempt);
        }
        self.set_alarm(cx);
    }

    /// Opens the stream in a new session, before the first call is sent.
    pub(crate) fn session_began(&mut self, calls: &mut Calls) {
        let now = calls.base.cx.now;
        for old in self.listener.session_changed(now, calls.base.cx.policy.stable_after) {
            calls.base.cx.abort(old);
        }
        if self.listener.rests_in_new_session(now, &mut calls.base.cx.rng) {
            self.set_alarm(&mut calls.base.cx)
        } else {
            self.open(calls)
        }
    }

    /// Opens the stream, unless it is open or there is no session for it.
    pub(crate) fn open(&mut self, calls: &mut Calls) {
        let is_idle =
            matches!(self.listener.state(), ListenerState::Off | ListenerState::Waiting { .. });
        if !is_idle || calls.base.credentials.is_renewing() || calls.base.cx.is_closing() {
            return;
        }
        let Some(ready) = calls.base.session.ready() else { return };
        let (to, era) = (ready.address.clone(), ready.version.era());
        if era == Era::Modern {
            if self.wants_news(&calls.base)
                && !calls.base.credentials.must_await(&mut calls.base.cx)
            {
                self.send_listen(calls, to);
            }
            return;
        }
        let verb = Verb::Get { last_event_id: self.listener.last_event_id().cloned() };
        let attempt = calls.base.cx.send(standing_request(&calls.base, verb, to));
        self.listener.opening(attempt);
        self.set_alarm(&mut calls.base.cx);
    }

    /// Opens the stream again after a sleep of the computer, because the old one may be dead without a sign.
    pub(crate) fn reopen(&mut self, calls: &mut Calls) {
        if let Some(attempt) = self.listener.attempt() {
            calls.base.cx.abort(attempt);
            self.listener.ended(
                calls.base.cx.now,
                calls.base.cx.policy.stable_after,
                &mut calls.base.cx.rng,
            );
        }
        self.open(calls);
    }

    /// Handles the end of a pause, or of the time in which the server must accept the stream.
    pub(crate) fn due(&mut self, calls: &mut Calls) {
        match self.listener.attempt() {
            Some(attempt) => {
                calls.base.cx.abort(attempt);
                self.ended(&mut calls.base.cx);
            }
            None => self.open(calls),
        }
    }

    /// Handles the head of the answer to the request for the stream.
    pub(crate) fn head(&mut self, calls: &mut Calls, attempt: AttemptId, head: &AnswerHead) {
        let now = calls.base.cx.now;
        let is_subscription = self.listener.wire_id().is_some();
        if is_subscription && head.is_stream() {
            // A stateless server has yet to acknowledge it.
            return;
        }
        if has_words(head, is_subscription) {
            self.listener.refused(now, head);
            return self.set_alarm(&mut calls.base.cx);
        }
        let rejected = calls.base.cx.attempts.get(attempt).map(|each| each.credentials);
        let is_open = head.is_stream();
        let verdict = self.listener.answered(now, head, &mut calls.base.cx.rng);
        self.follow(calls, verdict, (rejected, head));
        if !is_open {
            calls.base.cx.then(Effect::Drain(attempt));
        }
    }

    /// Acts on the answer to the GET.
    fn follow(
        &self,
        calls: &mut Calls,
        verdict: ListenerVerdict,
        (rejected, head): (Option<CredentialsId>, &AnswerHead),
    ) {
        match verdict {
            ListenerVerdict::Opened { gap: Some(gap) } => {
                calls.base.cx.tell(Event::ListenerBack { gap });
                let is_resumed = self.listener.last_event_id().is_some();
                // A session that began in the gap was told what is watched, and tells of it.
                let is_older = calls
                    .base
                    .session
                    .ready()
                    .is_some_and(|it| calls.base.cx.now.since(it.since) > gap);
                if gap >= WORTH_TELLING && !is_resumed && is_older {
                    calls.base.session.tell_missed(&mut calls.base.cx);
                }
            }
            ListenerVerdict::Opened { gap: None } => {}
            ListenerVerdict::CheckSession => calls.check_session(),
            ListenerVerdict::RenewCredentials => {
                let rejected = rejected.unwrap_or(calls.base.cx.credentials);
                let challenge = head.challenge.clone();
                calls.base.credentials.renew_on_suspicion(&mut calls.base.cx, rejected, challenge);
            }
            ListenerVerdict::Unsupported => calls.base.cx.tell(Event::ListenerUnsupported),
            ListenerVerdict::Wait { until } => {
                calls.base.cx.tell(Event::ListenerLost { retry: until })
            }
        }
        self.set_alarm(&mut calls.base.cx);
    }

    /// Handles an event on the stream.
    pub(crate) fn event(
        &mut self,
        cx: &mut Context,
        attempt: AttemptId,
        generation: Generation,
        event: &sse::SseEvent,
    ) {
        let is_stateless = self.listener.wire_id().is_some();
        if !is_stateless {
            self.listener.note_event(event.id.as_ref(), event.retry);
        }
        if !event.is_message() || event.data.is_empty() {
            return;
        }
        match Incoming::parse(&event.data) {
            Ok(incoming) if is_stateless => {
                let is_current = self.listener.attempt() == Some(attempt);
                let messages = incoming.into_messages().into_iter();
                let heard = StreamMessages { attempt, generation, is_current, messages };
                cx.then(ListeningEffect::Heard(heard));
            }
            Ok(incoming) => {
                cx.take_in_all(MessageSource::of_session(generation), incoming.into_messages());
            }
            Err(_) => cx.tell(Event::UnreadableEvent),
        }
    }

    /// Handles a body that came in place of a stream.
    pub(crate) fn body(&mut self, calls: &mut Calls, rejected: CredentialsId, body: &Bytes) {
        let now = calls.base.cx.now;
        let Some(head) = self.listener.take_refusal() else { return };
        if self.listener.wire_id().is_some() {
            return self.subscription_refused(calls, &head, body);
        }
        let verdict = if get_speaks_of_loss(&head, body) {
            self.listener.session_denied(now, &mut calls.base.cx.rng)
        } else {
            self.listener.answered(now, &head, &mut calls.base.cx.rng)
        };
        self.follow(calls, verdict, (Some(rejected), &head));
    }

    /// Opens the stream that waited for better credentials. A stream in a pause stays in it, because
    /// credentials may be renewed as often as calls are refused.
    pub(crate) fn credentials_came(&mut self, calls: &mut Calls) {
        if self.listener.state() == ListenerState::Off {
            self.open(calls);
        }
    }

    /// Schedules another try, because no better credentials could be had.
    pub(crate) fn credentials_failed(&mut self, base: &mut Base) {
        let is_idle =
            matches!(self.listener.state(), ListenerState::Off | ListenerState::Waiting { .. });
        let is_wanted = base.session.era().has_sessions() || self.wants_news(base);
        if is_idle && base.session.ready().is_some() && is_wanted {
            self.ended(&mut base.cx);
        }
    }
}

/// Returns a request for the standing stream that leaves free the connection that made the session.
pub(super) fn standing_request(base: &Base, verb: Verb, to: Address) -> NewRequest {
    let route = base.health.kept_free(&base.session).map_or(Route::Any, Route::Except);
    NewRequest { route, ..NewRequest::new(Owner::Listener, verb, to) }
}

/// Whether only the body of this answer tells what it means. Servers report a lost session in many ways, by
/// 401 too; a 404 or 405 needs no words, nor does a challenge.
fn has_words(head: &AnswerHead, is_subscription: bool) -> bool {
    if status::is_unauthorized(head.status) {
        return !is_subscription && !status::is_challenged(head);
    }
    if status::is_no_stream_here(head.status) { is_subscription } else { !head.is_stream() }
}

/// The shortest gap in which an update is worth a word: proxies cut streams every minute or so, for a moment.
const WORTH_TELLING: Duration = Duration::from_secs(2);
