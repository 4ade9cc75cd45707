//! The way between parts: each effect that a part asks for is carried out by the part that is asked.

use crate::link::Link;
use crate::link::base::Base;
use crate::link::effects::{
    CredentialsEffect, Effect, HealthEffect, ListeningEffect, OutboundEffect, ReachEffect,
    SessionEffect,
};
use crate::moment::Moment;

impl Link {
    /// Carries out what parts asked for, until nothing is left to do.
    pub(super) fn run_effects(&mut self, now: Moment) {
        while let Some(effect) = self.base.cx.next_effect() {
            self.carry_out(now, effect);
        }
    }

    fn carry_out(&mut self, now: Moment, effect: Effect) {
        match effect {
            Effect::Call(effect) => self.calls.perform(&mut self.base, now, effect),
            Effect::Close => self.closing_progressed(now),
            Effect::Credentials(effect) => self.perform_credentials(now, effect),
            Effect::Drain(attempt) => self.base.cx.drain(attempt),
            Effect::Health(effect) => self.perform_health(now, effect),
            Effect::Listening(effect) => self.perform_listening(now, effect),
            Effect::Outbound(effect) => self.perform_outbound(now, effect),
            Effect::Reach(effect) => self.perform_reach(now, effect),
            Effect::Session(effect) => self.perform_session(now, effect),
            Effect::Tell(event) => self.base.cx.tell(event),
            Effect::OwnSettled(purpose, about, word) => {
                let stream = self.listening.standing();
                self.calls.own_settled(&mut self.base, now, (purpose, about), word, stream);
            }
        }
    }

    fn perform_credentials(&mut self, now: Moment, effect: CredentialsEffect) {
        let Base { cx, credentials, .. } = &mut self.base;
        match effect {
            CredentialsEffect::Renew { rejected, challenge } => {
                credentials.renew(cx, now, rejected, challenge);
            }
            CredentialsEffect::RequestScope(challenge) => {
                credentials.request_scope(cx, now, challenge);
            }
        }
    }

    fn perform_health(&mut self, now: Moment, effect: HealthEffect) {
        let Base { cx, session, health, .. } = &mut self.base;
        match effect {
            HealthEffect::EndDeferredProbe => health.end_deferred_probe(cx, now, session),
            HealthEffect::JudgeBreaker(sign) => health.judge_breaker(cx, now, session, sign),
            HealthEffect::JudgeSilence(verdict) => health.judge_silence(cx, now, verdict),
            HealthEffect::PingAgainIfSilent => {
                if self.calls.is_any_silent(now) {
                    health.ping_again(cx, now);
                }
            }
            HealthEffect::PingBrought(generation, sign) => {
                health.ping_brought(cx, now, session, generation, sign);
            }
            HealthEffect::ProbeNotSent => health.probe_not_sent(cx, now, session),
            HealthEffect::ProbeWithCredentials => health.probe_with_credentials(cx, session),
            HealthEffect::SessionCame => health.session_came(cx, session),
        }
    }

    fn perform_listening(&mut self, now: Moment, effect: ListeningEffect) {
        let (base, calls, listening) = (&mut self.base, &mut self.calls, &mut self.listening);
        match effect {
            ListeningEffect::Anew => listening.listen_anew(base, calls, now),
            ListeningEffect::CredentialsCame => listening.credentials_came(base, calls, now),
            ListeningEffect::CredentialsFailed => listening.credentials_failed(base, now),
            ListeningEffect::DropRefused { refused, is_outdated } => {
                listening.drop_refused(base, calls, now, &refused, is_outdated);
            }
            ListeningEffect::EnsureSession => listening.ensure_session(base),
            ListeningEffect::Heard(heard) => listening.heard(base, calls, now, heard),
            ListeningEffect::Hurry => listening.hurry(&mut base.cx, now),
            ListeningEffect::RefuseRest { granted, is_outdated } => {
                listening.refuse_rest(base, calls, &granted, is_outdated);
            }
            ListeningEffect::SessionBegan => listening.session_began(base, calls, now),
            ListeningEffect::SessionChecked => listening.session_checked(&mut base.cx, now),
            ListeningEffect::Stop => listening.stop(&mut base.cx, now),
        }
    }

    fn perform_outbound(&mut self, now: Moment, effect: OutboundEffect) {
        let Base { cx, reach, session, admission, outbound, .. } = &mut self.base;
        match effect {
            OutboundEffect::CredentialsCame => outbound.credentials_came(cx),
            OutboundEffect::CredentialsFailed => outbound.credentials_failed(cx, now),
            OutboundEffect::FillTurns => outbound.fill_turns(cx, admission.capacity()),
            OutboundEffect::LinkCame => outbound.link_came(cx),
            OutboundEffect::LinkFailed(ending) => outbound.link_failed(cx, now, &ending),
            OutboundEffect::Send(id) => {
                outbound.send_notice(cx, now, id, (reach, session, admission));
            }
            OutboundEffect::SessionCame => outbound.session_came(cx),
            OutboundEffect::SessionFailed(ending) => outbound.session_failed(cx, now, &ending),
            OutboundEffect::SessionLost(generation) => outbound.session_lost(cx, now, generation),
        }
    }

    fn perform_reach(&mut self, now: Moment, effect: ReachEffect) {
        match effect {
            ReachEffect::Drive => {
                let is_awaited = self.base.reach.next_connect().is_some() && self.awaits_link();
                self.base.reach.drive(&mut self.base.cx, now, is_awaited);
            }
            ReachEffect::Due => self.base.reach.due(&mut self.base.cx, now),
        }
    }

    fn perform_session(&mut self, now: Moment, effect: SessionEffect) {
        let Base { cx, reach, session, credentials, .. } = &mut self.base;
        match effect {
            SessionEffect::BeginStateless(version, server) => {
                session.begin_stateless(cx, now, version, server);
            }
            SessionEffect::CredentialsCame => session.credentials_came(cx),
            SessionEffect::CredentialsFailed(ending) => session.credentials_failed(cx, ending),
            SessionEffect::Ensure => session.ensure(cx, now),
            SessionEffect::EnsureIfKept => {
                if reach.keeps_connected() {
                    session.ensure(cx, now);
                }
            }
            SessionEffect::Fail(ending) => session.fail(cx, ending),
            SessionEffect::LeaveDeadStream => session.leave_dead_stream(cx),
            SessionEffect::LeaveUnused(address) => session.leave_unused(cx, now, address),
            SessionEffect::LinkCame => session.link_came(cx),
            SessionEffect::Lose(generation) => session.lose(cx, generation),
            SessionEffect::Opened(answer) => session.opened(cx, now, *answer),
            SessionEffect::Restore => session.begin_restoring(cx),
            SessionEffect::RestoreMore => {
                session.restore_more(cx, now, self.calls.restoring());
            }
            SessionEffect::TryHandshake => session.try_handshake(cx, now, reach, credentials),
        }
    }
}
