//! The way between parts: each effect that a part asks for is carried out by the part that is asked.

use crate::link::Link;
use crate::link::base::Base;
use crate::link::effects::{
    CredentialsEffect, Effect, HealthEffect, ListeningEffect, OutboundEffect, ReachEffect,
    SessionEffect,
};

impl Link {
    /// Carries out what parts asked for, until nothing is left to do.
    pub(super) fn run_effects(&mut self) {
        while let Some(effect) = self.calls.base.cx.next_effect() {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Call(effect) => self.calls.perform(effect),
            Effect::Close => self.closing_progressed(),
            Effect::Credentials(effect) => self.perform_credentials(effect),
            Effect::Drain(attempt) => self.calls.base.cx.drain(attempt),
            Effect::Health(effect) => self.perform_health(effect),
            Effect::Listening(effect) => self.perform_listening(effect),
            Effect::Outbound(effect) => self.perform_outbound(effect),
            Effect::Reach(effect) => self.perform_reach(effect),
            Effect::Session(effect) => self.perform_session(effect),
            Effect::Tell(event) => self.calls.base.cx.tell(event),
            Effect::OwnSettled(purpose, about, word) => {
                let stream = self.listening.standing();
                self.calls.own_settled((purpose, about), word, stream);
            }
        }
    }

    fn perform_credentials(&mut self, effect: CredentialsEffect) {
        let Base { cx, credentials, .. } = &mut self.calls.base;
        match effect {
            CredentialsEffect::Renew { rejected, challenge } => {
                credentials.renew(cx, rejected, challenge);
            }
            CredentialsEffect::RequestScope(challenge) => {
                credentials.request_scope(cx, challenge);
            }
        }
    }

    fn perform_health(&mut self, effect: HealthEffect) {
        let Base { cx, session, health, .. } = &mut self.calls.base;
        match effect {
            HealthEffect::EndDeferredProbe => health.end_deferred_probe(cx, session),
            HealthEffect::JudgeBreaker(sign) => health.judge_breaker(cx, session, sign),
            HealthEffect::JudgeSilence(verdict) => health.judge_silence(cx, verdict),
            HealthEffect::PingAgainIfSilent => {
                if self.calls.all.is_any_silent(cx.now) {
                    health.ping_again(cx);
                }
            }
            HealthEffect::PingBrought(generation, sign) => {
                health.ping_brought(cx, session, generation, sign);
            }
            HealthEffect::ProbeNotSent => health.probe_not_sent(cx, session),
            HealthEffect::ProbeWithCredentials => health.probe_with_credentials(cx, session),
            HealthEffect::SessionCame => health.session_came(cx, session),
        }
    }

    fn perform_listening(&mut self, effect: ListeningEffect) {
        let (calls, listening) = (&mut self.calls, &mut self.listening);
        match effect {
            ListeningEffect::Anew => listening.listen_anew(calls),
            ListeningEffect::CredentialsCame => listening.credentials_came(calls),
            ListeningEffect::CredentialsFailed => listening.credentials_failed(&mut calls.base),
            ListeningEffect::DropRefused { refused, is_outdated } => {
                listening.drop_refused(calls, &refused, is_outdated);
            }
            ListeningEffect::EnsureSession => listening.ensure_session(&mut calls.base),
            ListeningEffect::Heard(heard) => listening.heard(calls, heard),
            ListeningEffect::Hurry => listening.hurry(&mut calls.base.cx),
            ListeningEffect::RefuseRest { granted, is_outdated } => {
                listening.refuse_rest(calls, &granted, is_outdated);
            }
            ListeningEffect::SessionBegan => listening.session_began(calls),
            ListeningEffect::SessionChecked => listening.session_checked(&mut calls.base.cx),
            ListeningEffect::Stop => listening.stop(&mut calls.base.cx),
        }
    }

    fn perform_outbound(&mut self, effect: OutboundEffect) {
        let Base { cx, reach, session, admission, outbound, .. } = &mut self.calls.base;
        match effect {
            OutboundEffect::CredentialsCame => outbound.credentials_came(cx),
            OutboundEffect::CredentialsFailed => outbound.credentials_failed(cx),
            OutboundEffect::FillTurns => outbound.fill_turns(cx, admission.capacity()),
            OutboundEffect::LinkCame => outbound.link_came(cx),
            OutboundEffect::LinkFailed(ending) => outbound.link_failed(cx, &ending),
            OutboundEffect::Send(id) => {
                outbound.send_notice(cx, id, (reach, session, admission));
            }
            OutboundEffect::SessionCame => outbound.session_came(cx),
            OutboundEffect::SessionFailed(ending) => outbound.session_failed(cx, &ending),
            OutboundEffect::SessionLost(generation) => outbound.session_lost(cx, generation),
        }
    }

    fn perform_reach(&mut self, effect: ReachEffect) {
        match effect {
            ReachEffect::Drive => {
                let is_awaited =
                    self.calls.base.reach.next_connect().is_some() && self.awaits_link();
                self.calls.base.reach.drive(&mut self.calls.base.cx, is_awaited);
            }
            ReachEffect::Due => self.calls.base.reach.due(&mut self.calls.base.cx),
        }
    }

    fn perform_session(&mut self, effect: SessionEffect) {
        let Base { cx, reach, session, credentials, .. } = &mut self.calls.base;
        match effect {
            SessionEffect::BeginStateless(version, server) => {
                session.begin_stateless(cx, version, server);
            }
            SessionEffect::CredentialsCame => session.credentials_came(cx),
            SessionEffect::CredentialsFailed(ending) => session.credentials_failed(cx, ending),
            SessionEffect::Ensure => session.ensure(cx),
            SessionEffect::EnsureIfKept => {
                if reach.keeps_connected() {
                    session.ensure(cx);
                }
            }
            SessionEffect::Fail(ending) => session.fail(cx, ending),
            SessionEffect::LeaveDeadStream => session.leave_dead_stream(cx),
            SessionEffect::LeaveUnused(address) => session.leave_unused(cx, address),
            SessionEffect::LinkCame => session.link_came(cx),
            SessionEffect::Lose(generation) => session.lose(cx, generation),
            SessionEffect::Opened(answer) => session.opened(cx, *answer),
            SessionEffect::Restore => session.begin_restoring(cx),
            SessionEffect::RestoreMore => {
                session.restore_more(cx, self.calls.all.restoring());
            }
            SessionEffect::TryHandshake => session.try_handshake(cx, reach, credentials),
        }
    }
}
