//! What the answer to a ping means for silent calls and for the breaker.

use super::Health;
use super::ping::{self, PingState};
use crate::answer::PostReading;
use crate::breaker;
use crate::breaker::Incident;
use crate::event::Event;
use crate::exchange::Purpose;
use crate::failure::Delivery;
use crate::ids::Generation;
use crate::link::context::Context;
use crate::link::effects::{
    CallEffect, CredentialsEffect, HealthEffect, Liveness, PingResult, SessionEffect,
};
use crate::link::own_request::{OwnOutcome, OwnReply, OwnRequest};
use crate::link::session::Sessions;
use crate::link::timers::Timer;
use crate::moment::Moment;

impl Health {
    fn ask_again_at(&mut self, cx: &mut Context, again: Moment) {
        self.pulse.askers.silence = true;
        if !self.pulse.is_out() {
            self.pulse.rest(again);
            cx.timers.set(Timer::Pulse, Some(again));
        }
    }

    fn breaker_opened(&mut self, cx: &mut Context) {
        if let breaker::BreakerState::Open { until } = self.breaker.state() {
            cx.tell(Event::BreakerOpened { until });
            cx.timers.set(Timer::Breaker, Some(until));
            cx.then(CallEffect::HoldCalls);
        }
    }

    /// Counts a call that ended for a transport reason.
    pub(crate) fn strike(&mut self, cx: &mut Context, incident: Incident) {
        if self.breaker.strike(cx.now, incident, &mut cx.rng) {
            self.breaker_opened(cx);
        }
    }

    /// Closes the breaker, because the server answered.
    pub(crate) fn server_answered(&mut self, cx: &mut Context) {
        if self.breaker.state() != breaker::BreakerState::Closed {
            self.breaker.probe_answered();
            self.pulse.askers.breaker = false;
            cx.timers.set(Timer::Breaker, None);
            cx.tell(Event::BreakerClosed);
        }
    }

    /// Row 19: pings the server because a call has heard nothing for long.
    pub(crate) fn ask_about_silence(&mut self, cx: &mut Context, session: &Sessions) {
        self.pulse.askers.silence = true;
        self.send_ping(cx, session);
    }

    /// Begins the breaker's probe when its pause is over: renews the session if needed, then pings. A call of
    /// the application never serves as the probe.
    pub(crate) fn probe_for_breaker(&mut self, cx: &mut Context, session: &Sessions) {
        self.pulse.is_second_probe = false;
        self.pulse.probe_awaits_credentials = false;
        self.probe(cx, session);
    }

    /// Repeats a probe that was refused for its credentials, at once and only once, because there are better
    /// ones.
    pub(crate) fn probe_with_credentials(&mut self, cx: &mut Context, session: &Sessions) {
        let is_awaited = std::mem::take(&mut self.pulse.probe_awaits_credentials);
        if is_awaited && matches!(self.breaker.state(), breaker::BreakerState::Open { .. }) {
            self.pulse.is_second_probe = true;
            self.probe(cx, session);
        }
    }

    fn probe(&mut self, cx: &mut Context, session: &Sessions) {
        cx.timers.set(Timer::Breaker, None);
        self.breaker.probe_began();
        self.pulse.askers.breaker = true;
        match session.ready() {
            Some(_) => self.send_ping(cx, session),
            None => cx.then(SessionEffect::Ensure),
        }
        cx.then(HealthEffect::EndDeferredProbe);
    }

    /// Ends a probe for which there is no session yet, because the server asked for time.
    pub(crate) fn end_deferred_probe(&mut self, cx: &mut Context, session: &Sessions) {
        if session.is_deferred(cx.now) {
            self.probe_not_sent(cx, session);
        }
    }

    /// Goes on with a probe that waited for a session.
    pub(crate) fn session_came(&mut self, cx: &mut Context, session: &Sessions) {
        if self.is_probing() {
            self.send_ping(cx, session);
        }
    }

    /// Sends the ping, unless one is out.
    fn send_ping(&mut self, cx: &mut Context, session: &Sessions) {
        if self.pulse.is_out() {
            return;
        }
        cx.timers.set(Timer::Pulse, None);
        self.pulse.sent();
        let to = session.ready().map(|ready| ready.address.clone()).unwrap_or_default();
        let request = OwnRequest::new(Purpose::Liveness, session.era().probe_method(), ping::LIMIT);
        cx.then(CallEffect::Ask(Box::new(OwnRequest { to: Some(to), ..request })));
    }

    /// Handles the end of the pause before the next ping, which is sent if a call `is_silent`.
    pub(crate) fn pulse_due(&mut self, cx: &mut Context, session: &Sessions, is_silent: bool) {
        if !matches!(self.pulse.state(), PingState::Resting { .. }) {
            return;
        }
        self.pulse.rest_over();
        if is_silent {
            self.send_ping(cx, session);
        } else {
            self.pulse.askers.silence = false;
            cx.then(CallEffect::WatchLive);
        }
    }

    /// Handles what came of the ping.
    pub(crate) fn liveness_told(
        &mut self,
        cx: &mut Context,
        session: &mut Sessions,
        generation: Generation,
        word: OwnOutcome,
    ) {
        let sign = match word {
            OwnOutcome::Nothing(failure) if failure.delivery == Delivery::NotSent => {
                PingResult::NotSent
            }
            OwnOutcome::Nothing(_) => PingResult::Unanswered,
            OwnOutcome::Answered(reply) => self.sign_of(cx, session, *reply),
        };
        cx.then(HealthEffect::PingBrought(generation, sign));
    }

    fn sign_of(&mut self, cx: &mut Context, session: &mut Sessions, reply: OwnReply) -> PingResult {
        let is_current = session.current_generation() == Some(reply.to.generation);
        if is_current && session.met_the_other_era(&reply.to, &reply.head, &reply.reading) {
            // No call can find that out while the breaker refuses calls.
            return PingResult::Lost;
        }
        match reply.reading {
            PostReading::Answer(_) => PingResult::Reply,
            PostReading::Suspected(_) => PingResult::Lost,
            PostReading::Unauthorized { challenge, .. } if self.pulse.askers.breaker => {
                // No call can renew the credentials while the breaker refuses calls.
                self.pulse.probe_awaits_credentials = !self.pulse.is_second_probe;
                let rejected = reply.credentials;
                cx.then(CredentialsEffect::Renew { rejected, challenge });
                PingResult::Http
            }
            _ => PingResult::Http,
        }
    }

    /// Tells silent calls and the breaker what the ping brought.
    pub(crate) fn ping_brought(
        &mut self,
        cx: &mut Context,
        session: &Sessions,
        generation: Generation,
        sign: PingResult,
    ) {
        let verdict = self.pulse.learn(cx.now, sign, self.pulse.askers.silence);
        let askers = std::mem::take(&mut self.pulse.askers);
        // A reply about a session that was replaced says nothing about the one in force.
        let is_current = session.current_generation() == Some(generation);
        let sign = if sign == PingResult::Lost && !is_current { PingResult::Http } else { sign };
        if sign == PingResult::Lost {
            self.session_refused(cx, generation);
        }
        if askers.silence {
            cx.then(HealthEffect::JudgeSilence(verdict));
        }
        if askers.breaker {
            cx.then(HealthEffect::JudgeBreaker(sign));
        }
    }

    /// Tells calls that are silent whether the server is there.
    pub(crate) fn judge_silence(&mut self, cx: &mut Context, verdict: Liveness) {
        match verdict {
            Liveness::Alive => {
                self.alive_at = cx.now;
                cx.then(CallEffect::ResumeSilent);
            }
            Liveness::Dead { is_unreachable } => {
                cx.then(SessionEffect::LeaveDeadStream);
                cx.then(CallEffect::EndSilent { is_unreachable });
                cx.then(HealthEffect::PingAgainIfSilent);
            }
            Liveness::Unsure { again } => self.ask_again_at(cx, again),
        }
        cx.then(CallEffect::WatchLive);
    }

    /// Pings again later, for calls that are silent still.
    pub(crate) fn ping_again(&mut self, cx: &mut Context) {
        self.ask_again_at(cx, cx.now + (ping::INTERVAL - ping::LIMIT));
    }

    /// Tells the breaker what its probe brought.
    pub(crate) fn judge_breaker(&mut self, cx: &mut Context, session: &Sessions, sign: PingResult) {
        if self.breaker.state() != breaker::BreakerState::Probing {
            return;
        }
        match sign {
            PingResult::Reply => {
                self.breaker.probe_answered();
                cx.tell(Event::BreakerClosed);
                cx.then(CallEffect::ServerAnswered(None));
            }
            // The pause is for servers that fail; this one only needs a new session.
            PingResult::Lost if !self.pulse.is_second_probe => {
                self.pulse.is_second_probe = true;
                self.probe(cx, session);
            }
            _ => {
                self.breaker.probe_failed(cx.now, &mut cx.rng);
                self.breaker_opened(cx);
            }
        }
    }

    /// Ends a probe of the breaker that failed before a ping could go out.
    pub(crate) fn probe_not_sent(&mut self, cx: &mut Context, session: &Sessions) {
        if self.pulse.askers.breaker && !self.pulse.is_out() {
            self.pulse.askers.breaker = false;
            self.judge_breaker(cx, session, PingResult::Unanswered);
        }
    }
}
