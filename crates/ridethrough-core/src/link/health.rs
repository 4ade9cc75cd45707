//! What a ping's answer means to those who asked: silent calls, suspicions, the breaker.

use bytes::Bytes;

use super::attempts::Owner;
use super::pulse::{self, Health, Ping, Sign, State as PulseState};
use super::renewal::Ready;
use super::timers::Timer;
use super::{Link, breaker};
use crate::event::Event;
use crate::exchange::{Asked, Exchange, Phase, PostReading, Sent, State, Then, Waiting, read_post};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::ids::{ExchangeId, Generation};
use crate::message::{Message, Params};
use crate::moment::Moment;
use crate::output::{Address, Verb};
use crate::session::{Carried, names_a_lost_session};

impl Link {
    /// Row 19: a call has heard nothing for long.
    pub(super) fn ask_about_silence(&mut self, now: Moment) {
        self.pulse.askers.silence = true;
        self.send_ping(now);
    }

    /// Rows 9 and the 200-dialect: is the session of this call still there?
    pub(super) fn check_session_of(&mut self, now: Moment, id: ExchangeId) {
        let sent = self.exchanges.get(&id).and_then(|exchange| exchange.sent.as_ref());
        let generation = sent.map(Sent::generation);
        if generation != self.session.ready().map(Ready::generation) {
            // Another session has taken its place: nobody can ask about the old one.
            return self.resolve_check(now, id, true);
        }
        self.check_session(now);
    }

    /// Asks about a session, unless another one has taken its place.
    pub(super) fn check_generation(&mut self, now: Moment, generation: Generation) {
        if self.session.ready().map(Ready::generation) == Some(generation)
            && self.era().has_sessions()
        {
            self.check_session(now);
        }
    }

    /// One ping on the session, for all who wonder.
    pub(super) fn check_session(&mut self, now: Moment) {
        self.pulse.askers.session = true;
        self.send_ping(now);
    }

    /// The breaker's time is up: renew if needed, then ask. Never with a user's call.
    pub(super) fn probe_for_breaker(&mut self, now: Moment) {
        self.pulse.is_second_probe = false;
        self.pulse.probe_awaits_credentials = false;
        self.probe(now);
    }

    /// The probe was refused for its credentials, and there are better ones: ask again at once, this once.
    pub(super) fn probe_with_credentials(&mut self, now: Moment) {
        let is_awaited = std::mem::take(&mut self.pulse.probe_awaits_credentials);
        if is_awaited && matches!(self.breaker.state(), breaker::State::Open { .. }) {
            self.pulse.is_second_probe = true;
            self.probe(now);
        }
    }

    fn probe(&mut self, now: Moment) {
        self.timers.set(Timer::Breaker, None);
        self.breaker.probe_began();
        self.pulse.askers.breaker = true;
        match self.session.ready() {
            Some(_) => self.send_ping(now),
            None => self.ensure_session(now),
        }
        if self.handshake_is_deferred(now) {
            self.breaker_probe_failed_unsent(now);
        }
    }

    /// The link woke from a sleep of the machine: ask at once, and say how long it was.
    pub fn handle_resumed_from_suspend(&mut self, now: Moment, gap: std::time::Duration) {
        self.tell(Event::Suspended { gap });
        if self.closing.is_begun() {
            return;
        }
        self.reopen_listener(now);
        if self.session.ready().is_some() {
            self.ask_about_silence(now);
        }
    }

    /// Sends the ping, unless one is out already.
    pub(super) fn send_ping(&mut self, now: Moment) {
        if self.pulse.ping().is_some() {
            return;
        }
        let to = self.session.ready().map(|ready| ready.address.clone()).unwrap_or_default();
        let generation = to.generation;
        let wire_id = self.next_wire_id();
        let method = self.era().probe_method();
        let body = self.body(&Params::new(None, false), wire_id, method);
        let headers = self.own_headers(method);
        let attempt = self.request_with(Owner::Pulse, Verb::Post { body }, to, headers);
        let until = now + pulse::LIMIT;
        let credentials = self.credentials.current();
        self.pulse.sent(Ping { attempt, wire_id, generation, credentials, until });
        self.timers.set(Timer::Pulse, Some(until));
    }

    /// A ping took too long, or the pause before the next one is over.
    pub(super) fn pulse_due(&mut self, now: Moment) {
        match self.pulse.state() {
            PulseState::Out(ping) => {
                self.abort(ping.attempt);
                self.ping_brought(now, Sign::Unanswered);
            }
            PulseState::Resting { .. } => {
                self.pulse.rest_over();
                if self.ids_where(|exchange| is_silent(exchange, now)).is_empty() {
                    self.pulse.askers.silence = false;
                    self.watch_live_calls();
                } else {
                    self.send_ping(now);
                }
            }
            PulseState::Idle => {}
        }
    }

    pub(super) fn pulse_head(&mut self, head: AnswerHead) {
        self.pulse.head = Some(head);
    }

    /// A ping was answered by a body.
    pub(super) fn pulse_body(&mut self, now: Moment, body: &Bytes) {
        let Some((ping, head)) = self.pulse.ping().zip(self.pulse.head.take()) else { return };
        let ready = self.session.ready().map(|ready| ready.address.clone());
        let carried = ready.as_ref().map_or(Carried::NoSession, Address::carried);
        let asked = Asked { wire_id: ping.wire_id, carried, assume_unexecuted: &[] };
        let answer = read_post(&head, body, asked);
        let ready = ready.filter(|to| to.generation == ping.generation);
        let is_other = ready.is_some_and(|to| self.met_the_other_era(&to, &head, &answer.reading));
        let sign = match answer.reading {
            // No call can find that out while the breaker refuses calls.
            _ if is_other => Sign::Lost,
            PostReading::Answer(_) => Sign::Reply,
            PostReading::SessionLost | PostReading::Suspected(_) => Sign::Lost,
            _ => Sign::Http,
        };
        if matches!(answer.reading, PostReading::Unauthorized(_)) && self.pulse.askers.breaker {
            // No call can bring better credentials while the breaker refuses calls.
            self.pulse.probe_awaits_credentials = !self.pulse.is_second_probe;
            self.renew_credentials(now, ping.credentials, head.challenge);
        }
        self.ping_brought(now, sign);
        self.take_in_all(now, Owner::Pulse, ping.generation, answer.others);
    }

    /// A message came on the stream that answers a ping. Returns whether it was the reply.
    pub(super) fn ping_heard(&mut self, now: Moment, message: &Message) -> bool {
        let Some(ping) = self.pulse.ping() else { return false };
        let Message::Response { id: Some(id), answer } = message else { return false };
        if id.number() != Some(ping.wire_id) {
            return false;
        }
        let words = answer.error().map(|error| error.message).unwrap_or_default();
        let is_lost = self.era().has_sessions() && names_a_lost_session(&words);
        self.drain(ping.attempt);
        self.ping_brought(now, if is_lost { Sign::Lost } else { Sign::Reply });
        true
    }

    pub(super) fn ping_failed(&mut self, now: Moment, failure: &Failure) {
        let sign = match failure.delivery {
            Delivery::NotSent => Sign::Refused,
            Delivery::Refused | Delivery::Unknown => Sign::Unanswered,
        };
        self.ping_brought(now, sign);
    }

    /// Tells everybody who asked.
    pub(super) fn ping_brought(&mut self, now: Moment, sign: Sign) {
        let Some(ping) = self.pulse.ping() else { return };
        self.timers.set(Timer::Pulse, None);
        let health = self.pulse.learn(now, sign, self.pulse.askers.silence);
        let askers = std::mem::take(&mut self.pulse.askers);
        // A word about a session that another one has replaced is no word about that one.
        let is_current = self.session.ready().map(Ready::generation) == Some(ping.generation);
        let sign = if sign == Sign::Lost && !is_current { Sign::Http } else { sign };
        let listener_asked = self.listener.is_checking();
        if sign == Sign::Lost {
            self.lose_session(now, ping.generation);
        }
        if askers.silence {
            self.judge_silence(now, health);
        }
        if askers.session {
            self.resolve_session_checks(now, sign == Sign::Lost);
        }
        if askers.breaker {
            self.judge_breaker(now, sign);
        }
        if sign == Sign::Lost && listener_asked {
            // Whoever listens wants to hear: the session is renewed without waiting for a call.
            self.ensure_session(now);
        }
    }

    fn judge_silence(&mut self, now: Moment, health: Health) {
        match health {
            Health::Alive => {
                self.alive_at = now;
                self.resume_silent_streams(now);
            }
            Health::Dead => {
                self.leave_dead_stream(now);
                self.end_silent_attempts(now);
            }
            Health::Unsure { again } => {
                self.pulse.askers.silence = true;
                if self.pulse.ping().is_none() {
                    self.pulse.rest(again);
                    self.timers.set(Timer::Pulse, Some(again));
                }
            }
        }
        self.watch_live_calls();
    }

    /// Sets the alarms by which calls that are out notice their own silence.
    fn watch_live_calls(&mut self) {
        for id in self.ids_where(|exchange| exchange.live().is_some()) {
            self.set_alarm(id);
        }
    }

    fn judge_breaker(&mut self, now: Moment, sign: Sign) {
        if self.breaker.state() != breaker::State::Probing {
            return;
        }
        match sign {
            Sign::Reply => {
                self.breaker.probe_answered();
                self.tell(Event::BreakerClosed);
            }
            // The pause is for servers that fail; this one wants to be greeted.
            Sign::Lost if !self.pulse.is_second_probe => {
                self.pulse.is_second_probe = true;
                self.probe(now);
            }
            _ => {
                self.breaker.probe_failed(now, &mut self.dice);
                self.breaker_opened();
            }
        }
    }

    /// The breaker's probe came to nothing before a ping could go out.
    pub(super) fn breaker_probe_failed_unsent(&mut self, now: Moment) {
        if self.pulse.askers.breaker && self.pulse.ping().is_none() {
            self.pulse.askers.breaker = false;
            self.judge_breaker(now, Sign::Unanswered);
        }
    }

    fn resolve_session_checks(&mut self, now: Moment, is_lost: bool) {
        let current = self.session.ready().map(Ready::generation);
        let is_checked = |exchange: &Exchange| {
            matches!(
                exchange.state,
                State::Suspected { .. } | State::Waiting(Waiting::SessionCheck)
            )
        };
        for id in self.ids_where(is_checked) {
            let Some(exchange) = self.exchanges.get(&id) else { continue };
            let is_old = exchange.sent.as_ref().map(Sent::generation) != current;
            self.resolve_check(now, id, is_lost || is_old);
        }
        self.listener_session_checked(now);
    }

    /// One call learns what became of its session.
    fn resolve_check(&mut self, now: Moment, id: ExchangeId, is_lost: bool) {
        let Some(exchange) = self.exchanges.get(&id) else { return };
        match (&exchange.state, is_lost) {
            (State::Suspected { .. }, true) => {
                self.decide(now, id, |exchange, _| exchange.session_lost());
            }
            (State::Suspected { answer }, false) => {
                let answer = answer.clone();
                self.finish(now, id, Ok(answer), None);
            }
            // Row 9: the call is repeated, once, on whichever session is good.
            _ => self.let_out(now, id, Then::Send),
        }
    }

    /// Row 19: alive, but silent for long: look whether the stream has more at its other end.
    fn resume_silent_streams(&mut self, now: Moment) {
        let is_stuck = |exchange: &Exchange| {
            let live = exchange.live().filter(|live| live.replaces.is_none());
            exchange.era().resumes_streams()
                && exchange.trail.last_event_id().is_some()
                && exchange.may_resume()
                && live.is_some_and(|live| {
                    matches!(live.phase, Phase::Stream { .. })
                        && now.since(live.last_sign) >= pulse::RESUME_BESIDE
                })
        };
        for id in self.ids_where(is_stuck) {
            let Some(exchange) = self.exchanges.get_mut(&id) else { continue };
            let placeholder = State::Waiting(Waiting::Place);
            if let State::Live(live) = std::mem::replace(&mut exchange.state, placeholder) {
                self.resume_beside(now, id, Some(Box::new(live)));
            }
        }
    }

    /// Row 19: the server is dead: every silent attempt is over.
    fn end_silent_attempts(&mut self, now: Moment) {
        for id in self.ids_where(|exchange| is_silent(exchange, now)) {
            let failure = Failure::unknown(Cause::Silent);
            let Some(live) = self.exchanges.get(&id).and_then(|it| it.live()) else { continue };
            let attempts = [Some(live.attempt), live.replaces.as_ref().map(|old| old.attempt)];
            attempts.into_iter().flatten().for_each(|attempt| self.abort(attempt));
            self.note_transport_failure(now, &failure, true);
            self.decide(now, id, |exchange, rules| exchange.attempt_failed(rules, failure));
        }
    }
}

fn is_silent(exchange: &Exchange, now: Moment) -> bool {
    exchange.live().is_some_and(|live| now.since(live.last_sign) >= pulse::INTERVAL)
}
