//! The standing stream as part of the link: opened after a handshake. Its failures never touch calls.

use super::Listening;
use crate::answer::{get_speaks_of_loss, status};
use crate::era::Era;
use crate::event::Event;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, CredentialsId, Generation};
use crate::link::Link;
use crate::link::attempts::{NewRequest, Owner};
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::listener::{ListenerState, ListenerVerdict};
use crate::message::Incoming;
use crate::moment::Moment;
use crate::output::{Address, Route, Verb};
use crate::sse;
use bytes::Bytes;

impl Listening {
    /// Shortens a long pause before the next try, because the server has become reachable.
    pub(crate) fn hurry_listener(&mut self, cx: &mut Context, now: Moment) {
        self.listener.link_is_back(now, &mut cx.rng);
        self.set_listener_alarm(cx);
    }

    pub(crate) fn listener_ended(&mut self, cx: &mut Context, now: Moment) {
        let retry = self.listener.ended(now, cx.policy.stable_after, &mut cx.rng);
        cx.tell(Event::ListenerLost { retry });
        self.set_listener_alarm(cx);
    }

    /// Handles the end of an attempt of the stream, which may be the one that was being replaced.
    pub(crate) fn listener_lost(&mut self, cx: &mut Context, now: Moment, attempt: AttemptId) {
        if !self.listener.lost_replaced(now, attempt) {
            self.listener_ended(cx, now);
        }
    }

    /// Handles a question about the session that found it alive: the stream goes on waiting, if it waited for
    /// that.
    pub(crate) fn listener_session_checked(&mut self, cx: &mut Context, now: Moment) {
        if let Some(retry) = self.listener.session_is_alive(now, &mut cx.rng) {
            cx.tell(Event::ListenerLost { retry });
            self.set_listener_alarm(cx);
        }
    }

    pub(crate) fn set_listener_alarm(&mut self, cx: &mut Context) {
        let alarm = match self.listener.state() {
            ListenerState::Waiting { until } => Some(until),
            ListenerState::Opening { .. } => self.listener.decided_until(),
            _ => None,
        };
        cx.timers.set(Timer::Listener, alarm);
    }

    pub(crate) fn stop_listener(&mut self, cx: &mut Context, now: Moment) {
        for attempt in self.listener.stop(now, cx.policy.stable_after) {
            cx.abort(attempt);
        }
        self.set_listener_alarm(cx);
    }
}

impl Link {
    /// Opens the stream in a new session, before the first call is sent.
    pub(crate) fn listen_in_new_session(&mut self, now: Moment) {
        for old in self.listening.listener.session_changed(now, self.cx.policy.stable_after) {
            self.cx.abort(old);
        }
        if self.listening.listener.rests_in_new_session(now, &mut self.cx.rng) {
            self.listening.set_listener_alarm(&mut self.cx)
        } else {
            self.open_listener(now)
        }
    }

    /// Opens the stream, unless it is open or there is no session for it.
    pub(crate) fn open_listener(&mut self, now: Moment) {
        if !matches!(
            self.listening.listener.state(),
            ListenerState::Off | ListenerState::Waiting { .. }
        ) || self.credentials.is_renewing()
            || self.closing.is_begun()
        {
            return;
        }
        let Some(ready) = self.session.ready() else { return };
        let (to, era) = (ready.address.clone(), ready.version.era());
        if era == Era::Modern {
            if self.wants_news() && !self.must_await_credentials(now) {
                self.send_listen(now, to);
            }
            return;
        }
        let verb = Verb::Get { last_event_id: self.listening.listener.last_event_id().cloned() };
        let attempt = self.cx.send(self.standing_request(verb, to));
        self.listening.listener.opening(attempt);
        self.listening.set_listener_alarm(&mut self.cx);
    }

    /// Returns a request for the standing stream that leaves free the connection that made the session.
    pub(crate) fn standing_request(&self, verb: Verb, to: Address) -> NewRequest {
        let route = self.kept_free().map_or(Route::Any, Route::Except);
        NewRequest { route, ..NewRequest::new(Owner::Listener, verb, to) }
    }

    /// Opens the stream again after a sleep of the computer, because the old one may be dead without a sign.
    pub(crate) fn reopen_listener(&mut self, now: Moment) {
        if let Some(attempt) = self.listening.listener.attempt() {
            self.cx.abort(attempt);
            self.listening.listener.ended(now, self.cx.policy.stable_after, &mut self.cx.rng);
        }
        self.open_listener(now);
    }

    /// Handles the end of a pause, or of the time in which the server must accept the stream.
    pub(crate) fn listener_due(&mut self, now: Moment) {
        match self.listening.listener.attempt() {
            Some(attempt) => {
                self.cx.abort(attempt);
                self.listening.listener_ended(&mut self.cx, now);
            }
            None => self.open_listener(now),
        }
    }

    pub(crate) fn listener_head(&mut self, now: Moment, attempt: AttemptId, head: &AnswerHead) {
        let is_subscription = self.listening.listener.wire_id().is_some();
        if is_subscription && head.is_stream() {
            // A stateless server has yet to acknowledge it.
            return;
        }
        if has_words(head, is_subscription) {
            self.listening.listener.refused(now, head);
            return self.listening.set_listener_alarm(&mut self.cx);
        }
        let rejected = self.cx.attempts.get(attempt).map(|each| each.credentials);
        let is_open = head.is_stream();
        let verdict = self.listening.listener.answered(now, head, &mut self.cx.rng);
        self.follow(now, verdict, rejected, head);
        if !is_open {
            self.cx.drain(attempt);
        }
    }

    /// Acts on the answer to the GET.
    fn follow(
        &mut self,
        now: Moment,
        verdict: ListenerVerdict,
        rejected: Option<CredentialsId>,
        head: &AnswerHead,
    ) {
        match verdict {
            ListenerVerdict::Opened { gap: Some(gap) } => self.cx.tell(Event::ListenerBack { gap }),
            ListenerVerdict::Opened { gap: None } => {}
            ListenerVerdict::CheckSession => self.check_session(now),
            ListenerVerdict::RenewCredentials => {
                let rejected = rejected.unwrap_or(self.cx.credentials);
                self.renew_credentials(now, rejected, head.challenge.clone());
            }
            ListenerVerdict::Unsupported => self.cx.tell(Event::ListenerUnsupported),
            ListenerVerdict::Wait { until } => self.cx.tell(Event::ListenerLost { retry: until }),
        }
        self.listening.set_listener_alarm(&mut self.cx);
    }

    pub(crate) fn listener_event(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        generation: Generation,
        event: &sse::SseEvent,
    ) {
        let is_stateless = self.listening.listener.wire_id().is_some();
        if !is_stateless {
            self.listening.listener.note_event(event.id.as_ref(), event.retry);
        }
        if !event.is_message() || event.data.is_empty() {
            return;
        }
        match Incoming::parse(&event.data) {
            Ok(incoming) if is_stateless => {
                self.subscription_event(now, attempt, generation, incoming.into_messages());
            }
            Ok(incoming) => {
                self.take_in_all(now, Owner::Listener, generation, incoming.into_messages());
            }
            Err(_) => self.cx.tell(Event::UnreadableEvent),
        }
    }

    /// Handles a body that came in place of a stream.
    pub(crate) fn listener_body(&mut self, now: Moment, rejected: CredentialsId, body: &Bytes) {
        let Some(head) = self.listening.listener.take_refusal() else { return };
        if self.listening.listener.wire_id().is_some() {
            return self.subscription_refused(now, &head, body);
        }
        let verdict = if get_speaks_of_loss(&head, body) {
            self.listening.listener.session_denied(now, &mut self.cx.rng)
        } else {
            self.listening.listener.answered(now, &head, &mut self.cx.rng)
        };
        self.follow(now, verdict, Some(rejected), &head);
    }

    /// Opens the stream that waited for better credentials. A stream in a pause stays in it, because
    /// credentials may be renewed as often as calls are refused.
    pub(crate) fn listener_has_credentials(&mut self, now: Moment) {
        if self.listening.listener.state() == ListenerState::Off {
            self.open_listener(now);
        }
    }

    /// Schedules another try, because no better credentials could be had.
    pub(crate) fn listener_goes_without_credentials(&mut self, now: Moment) {
        let is_idle = matches!(
            self.listening.listener.state(),
            ListenerState::Off | ListenerState::Waiting { .. }
        );
        let is_wanted = self.session.era().has_sessions() || self.wants_news();
        if is_idle && self.session.ready().is_some() && is_wanted {
            self.listening.listener_ended(&mut self.cx, now);
        }
    }
}

/// Whether only the body of this answer tells what it means. Servers report a lost session in many ways, by
/// 401 too; a 404 or 405 needs no words, nor does a challenge.
fn has_words(head: &AnswerHead, is_subscription: bool) -> bool {
    if status::is_unauthorized(head.status) {
        return !is_subscription && !status::is_challenged(head);
    }
    if status::is_no_stream_here(head.status) { is_subscription } else { !head.is_stream() }
}
