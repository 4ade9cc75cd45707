//! The standing stream as part of the link: opened after a handshake, isolated from the calls.

use bytes::Bytes;

use super::Link;
use super::attempts::Owner;
use super::timers::Timer;
use crate::event::Event;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, Generation};
use crate::listener::{State, Verdict};
use crate::message::Incoming;
use crate::moment::Moment;
use crate::output::Verb;
use crate::sse;

impl Link {
    /// A session is ready: its stream is opened before the first call is sent.
    pub(super) fn listen_in_new_session(&mut self, now: Moment) {
        if let Some(old) = self.listener.session_changed(now, self.policy.stable_after) {
            self.abort(old);
        }
        self.open_listener(now);
    }

    /// Opens the stream, unless it is open or has no session to be opened in.
    pub(super) fn open_listener(&mut self, _now: Moment) {
        if !matches!(self.listener.state(), State::Off | State::Waiting { .. })
            || !self.era().has_sessions()
            || self.credentials.is_renewing()
        {
            return;
        }
        let Some(ready) = self.session.ready() else { return };
        let to = ready.address.clone();
        let verb = Verb::Get { last_event_id: self.listener.last_event_id().cloned() };
        let attempt = self.request(Owner::Listener, verb, to);
        self.listener.opening(attempt);
        self.set_listener_alarm();
    }

    /// Time jumped: what was open may be dead and nobody can tell.
    pub(super) fn reopen_listener(&mut self, now: Moment) {
        if let Some(attempt) = self.listener.attempt() {
            self.abort(attempt);
            self.listener.ended(now, self.policy.stable_after, &mut self.dice);
        }
        self.open_listener(now);
    }

    pub(super) fn stop_listener(&mut self) {
        if let Some(attempt) = self.listener.stop() {
            self.abort(attempt);
        }
        self.set_listener_alarm();
    }

    pub(super) fn listener_head(&mut self, now: Moment, attempt: AttemptId, head: &AnswerHead) {
        match self.listener.answered(now, head, &mut self.dice) {
            Verdict::Opened { gap } => {
                if let Some(gap) = gap {
                    self.tell(Event::ListenerBack { gap });
                }
                return self.set_listener_alarm();
            }
            Verdict::CheckSession => self.check_session(now),
            Verdict::RenewCredentials => {
                let rejected = self.attempts.get(&attempt).map(|each| each.credentials);
                let rejected = rejected.unwrap_or(self.credentials.current());
                self.renew_credentials(now, rejected, head.challenge.clone());
            }
            Verdict::Unsupported => self.tell(Event::ListenerUnsupported),
            Verdict::Wait { until } => self.tell(Event::ListenerLost { retry: until }),
        }
        self.drain(attempt);
        self.set_listener_alarm();
    }

    pub(super) fn listener_event(
        &mut self,
        now: Moment,
        generation: Generation,
        event: &sse::Event,
    ) {
        self.listener.note_event(event.id.as_ref(), event.retry);
        if !event.is_message() || event.data.is_empty() {
            return;
        }
        let data: &Bytes = &event.data;
        match Incoming::parse(data) {
            Ok(incoming) => {
                self.take_in_all(now, Owner::Listener, generation, incoming.into_messages());
            }
            Err(_) => self.tell(Event::UnreadableEvent),
        }
    }

    pub(super) fn listener_ended(&mut self, now: Moment) {
        let retry = self.listener.ended(now, self.policy.stable_after, &mut self.dice);
        self.tell(Event::ListenerLost { retry });
        self.set_listener_alarm();
    }

    /// Somebody asked whether the session is there, perhaps this stream; it goes on waiting.
    pub(super) fn listener_session_checked(&mut self, now: Moment) {
        if let Some(retry) = self.listener.session_is_alive(now, &mut self.dice) {
            self.tell(Event::ListenerLost { retry });
            self.set_listener_alarm();
        }
    }

    /// No better credentials could be had: perhaps later.
    pub(super) fn listener_goes_without_credentials(&mut self, now: Moment) {
        let is_idle = matches!(self.listener.state(), State::Off | State::Waiting { .. });
        if is_idle && self.session.ready().is_some() && self.era().has_sessions() {
            self.listener_ended(now);
        }
    }

    pub(super) fn set_listener_alarm(&mut self) {
        let alarm = match self.listener.state() {
            State::Waiting { until } => Some(until),
            _ => None,
        };
        self.timers.set(Timer::Listener, alarm);
    }
}
