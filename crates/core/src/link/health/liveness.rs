//! What the answer to a ping means for silent calls and for the breaker.

use std::time::Duration;

use super::Health;
use super::ping::{self, Liveness, PingResult, PingState};
use crate::answer::PostReading;
use crate::breaker;
use crate::breaker::Incident;
use crate::event::Event;
use crate::exchange::{Exchange, Phase, Purpose, State, Waiting};
use crate::failure::{Cause, Delivery, Failure};
use crate::ids::Generation;
use crate::link::Link;
use crate::link::calls::{OwnOutcome, OwnReply, OwnRequest};
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::moment::Moment;

impl Health {
    pub(crate) fn ask_again_at(&mut self, cx: &mut Context, again: Moment) {
        self.pulse.askers.silence = true;
        if !self.pulse.is_out() {
            self.pulse.rest(again);
            cx.timers.set(Timer::Pulse, Some(again));
        }
    }

    pub(crate) fn breaker_opened(&mut self, cx: &mut Context) {
        if let breaker::BreakerState::Open { until } = self.breaker.state() {
            cx.tell(Event::BreakerOpened { until });
            cx.timers.set(Timer::Breaker, Some(until));
        }
    }

    /// Counts a call that ended for a transport reason.
    pub(crate) fn strike(&mut self, cx: &mut Context, now: Moment, incident: Incident) {
        if self.breaker.strike(now, incident, &mut cx.rng) {
            self.breaker_opened(cx);
        }
    }
}

impl Link {
    /// Row 19: pings the server because a call has heard nothing for long.
    pub(crate) fn ask_about_silence(&mut self, now: Moment) {
        self.health.pulse.askers.silence = true;
        self.send_ping(now);
    }

    /// Begins the breaker's probe when its pause is over: renews the session if needed, then pings. A call of
    /// the application never serves as the probe.
    pub(crate) fn probe_for_breaker(&mut self, now: Moment) {
        self.health.pulse.is_second_probe = false;
        self.health.pulse.probe_awaits_credentials = false;
        self.probe(now);
    }

    /// Repeats a probe that was refused for its credentials, at once and only once, because there are better
    /// ones.
    pub(crate) fn probe_with_credentials(&mut self, now: Moment) {
        let is_awaited = std::mem::take(&mut self.health.pulse.probe_awaits_credentials);
        if is_awaited && matches!(self.health.breaker.state(), breaker::BreakerState::Open { .. }) {
            self.health.pulse.is_second_probe = true;
            self.probe(now);
        }
    }

    fn probe(&mut self, now: Moment) {
        self.cx.timers.set(Timer::Breaker, None);
        self.health.breaker.probe_began();
        self.health.pulse.askers.breaker = true;
        match self.session.ready() {
            Some(_) => self.send_ping(now),
            None => self.ensure_session(now),
        }
        if self.session.is_deferred(now) {
            self.breaker_probe_failed_unsent(now);
        }
    }

    /// Checks at once what a sleep of the computer may have broken: the standing stream and calls that are
    /// out.
    pub(crate) fn woke_up(&mut self, now: Moment, gap: Duration) {
        self.cx.tell(Event::Suspended { gap });
        if self.closing.is_begun() {
            return;
        }
        self.reopen_listener(now);
        if self.session.ready().is_some() {
            self.ask_about_silence(now);
        }
    }

    /// Sends the ping, unless one is out.
    pub(crate) fn send_ping(&mut self, now: Moment) {
        if self.health.pulse.is_out() {
            return;
        }
        self.cx.timers.set(Timer::Pulse, None);
        self.health.pulse.sent();
        let to = self.session.ready().map(|ready| ready.address.clone()).unwrap_or_default();
        let method = self.session.era().probe_method();
        let request = OwnRequest::new(Purpose::Liveness, method, ping::LIMIT);
        self.ask(now, OwnRequest { to: Some(to), ..request });
    }

    /// Handles the end of the pause before the next ping.
    pub(crate) fn pulse_due(&mut self, now: Moment) {
        if !matches!(self.health.pulse.state(), PingState::Resting { .. }) {
            return;
        }
        self.health.pulse.rest_over();
        if self.calls.ids_where(|exchange| is_silent(exchange, now)).is_empty() {
            self.health.pulse.askers.silence = false;
            self.watch_live_calls();
        } else {
            self.send_ping(now);
        }
    }

    /// Handles what came of the ping.
    pub(crate) fn liveness_told(&mut self, now: Moment, generation: Generation, word: OwnOutcome) {
        let sign = match word {
            OwnOutcome::Nothing(failure) if failure.delivery == Delivery::NotSent => {
                PingResult::Refused
            }
            OwnOutcome::Nothing(_) => PingResult::Unanswered,
            OwnOutcome::Answered(reply) => self.sign_of(now, *reply),
        };
        self.ping_brought(now, generation, sign);
    }

    fn sign_of(&mut self, now: Moment, reply: OwnReply) -> PingResult {
        let is_current = self.current_generation() == Some(reply.to.generation);
        if is_current && self.session.met_the_other_era(&reply.to, &reply.head, &reply.reading) {
            // No call can find that out while the breaker refuses calls.
            return PingResult::Lost;
        }
        match reply.reading {
            PostReading::Answer(_) => PingResult::Reply,
            PostReading::Suspected(_) => PingResult::Lost,
            PostReading::Unauthorized { challenge, .. } if self.health.pulse.askers.breaker => {
                // No call can renew the credentials while the breaker refuses calls.
                self.health.pulse.probe_awaits_credentials = !self.health.pulse.is_second_probe;
                self.renew_credentials(now, reply.credentials, challenge);
                PingResult::Http
            }
            _ => PingResult::Http,
        }
    }

    /// Tells silent calls and the breaker what the ping brought.
    fn ping_brought(&mut self, now: Moment, generation: Generation, sign: PingResult) {
        let verdict = self.health.pulse.learn(now, sign, self.health.pulse.askers.silence);
        let askers = std::mem::take(&mut self.health.pulse.askers);
        // A reply about a session that was replaced says nothing about the one in force.
        let is_current = self.current_generation() == Some(generation);
        let sign = if sign == PingResult::Lost && !is_current { PingResult::Http } else { sign };
        if sign == PingResult::Lost {
            self.session_refused(now, generation);
        }
        if askers.silence {
            self.judge_silence(now, verdict);
        }
        if askers.breaker {
            self.judge_breaker(now, sign);
        }
    }

    fn judge_silence(&mut self, now: Moment, verdict: Liveness) {
        match verdict {
            Liveness::Alive => {
                self.health.alive_at = now;
                self.resume_silent_streams(now);
            }
            Liveness::Dead { is_unreachable } => {
                self.leave_dead_stream(now);
                self.end_silent_attempts(now, is_unreachable);
                if !self.calls.ids_where(|exchange| is_silent(exchange, now)).is_empty() {
                    self.health.ask_again_at(&mut self.cx, now + (ping::INTERVAL - ping::LIMIT));
                }
            }
            Liveness::Unsure { again } => self.health.ask_again_at(&mut self.cx, again),
        }
        self.watch_live_calls();
    }

    /// Sets the timers by which calls that are out notice their own silence.
    fn watch_live_calls(&mut self) {
        for id in self.calls.ids_where(|exchange| exchange.live().is_some()) {
            self.set_alarm(id);
        }
    }

    fn judge_breaker(&mut self, now: Moment, sign: PingResult) {
        if self.health.breaker.state() != breaker::BreakerState::Probing {
            return;
        }
        match sign {
            PingResult::Reply => {
                self.health.breaker.probe_answered();
                self.cx.tell(Event::BreakerClosed);
            }
            // The pause is for servers that fail; this one only needs a new session.
            PingResult::Lost if !self.health.pulse.is_second_probe => {
                self.health.pulse.is_second_probe = true;
                self.probe(now);
            }
            _ => {
                self.health.breaker.probe_failed(now, &mut self.cx.rng);
                self.health.breaker_opened(&mut self.cx);
            }
        }
    }

    /// Ends a probe of the breaker that failed before a ping could go out.
    pub(crate) fn breaker_probe_failed_unsent(&mut self, now: Moment) {
        if self.health.pulse.askers.breaker && !self.health.pulse.is_out() {
            self.health.pulse.askers.breaker = false;
            self.judge_breaker(now, PingResult::Unanswered);
        }
    }

    /// Row 19: resumes streams that have been silent for long at a live server, in case the rest of a stream
    /// waits there.
    fn resume_silent_streams(&mut self, now: Moment) {
        let is_stuck = |exchange: &Exchange| {
            let live = exchange.live().filter(|live| live.replaces.is_none());
            exchange.era().resumes_streams()
                && exchange.resume_state.last_event_id().is_some()
                && exchange.may_resume()
                && live.is_some_and(|live| {
                    matches!(live.phase, Phase::Stream { .. })
                        && now.since(live.last_sign) >= ping::RESUME_BESIDE
                })
        };
        for id in self.calls.ids_where(is_stuck) {
            let Some(exchange) = self.calls.get_mut(id) else { continue };
            let placeholder = State::Waiting(Waiting::Place);
            if let State::Live(live) = std::mem::replace(&mut exchange.state, placeholder) {
                self.resume_beside(now, id, Some(Box::new(live)));
            }
        }
    }

    /// Row 19: ends the silent attempts at a dead server. A server that can be reached but answers nothing
    /// may be at work, so a call whose caller has set a deadline waits until then.
    fn end_silent_attempts(&mut self, now: Moment, is_unreachable: bool) {
        let is_over = |exchange: &Exchange| {
            is_silent(exchange, now) && (is_unreachable || !exchange.deadline.is_callers)
        };
        for id in self.calls.ids_where(is_over) {
            let failure = Failure::unknown(Cause::Silent);
            let Some(live) = self.calls.get(id).and_then(|it| it.live()) else { continue };
            let attempts = [Some(live.attempt), live.replaces.as_ref().map(|old| old.attempt)];
            attempts.into_iter().flatten().for_each(|attempt| self.cx.abort(attempt));
            self.note_transport_failure(now, &failure, true);
            self.decide(now, id, |exchange, rules| exchange.attempt_failed(rules, failure));
        }
    }
}

fn is_silent(exchange: &Exchange, now: Moment) -> bool {
    let live = exchange.live().filter(|_| exchange.origin.is_application());
    live.is_some_and(|live| now.since(live.last_sign) >= ping::INTERVAL)
}
