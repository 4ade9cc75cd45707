//! Carrying out the steps that exchanges decide on.

use super::Calls;
use crate::event::{Event, Remedy};
use crate::exchange::{Ending, Exchange, HeldBack, Rules, Sent, State, Step, Then, Waiting};
use crate::head::Challenge;
use crate::ids::{CredentialsId, ExchangeId};
use crate::link::base::Base;
use crate::link::effects::{CallEffect, CredentialsEffect};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::rule::Rule;

impl Calls {
    /// Turns a step that renews the session or the credentials into an ending, if the exchange belongs to the
    /// link itself: only calls of the application renew.
    pub(crate) fn within_its_rights(&self, id: ExchangeId, step: Step) -> Step {
        let origin = self.get(id).map(|exchange| exchange.origin).unwrap_or_default();
        let kind = match &step {
            _ if origin.is_application() => return step,
            Step::CheckSession | Step::Doubt(_) | Step::RenewSession => Kind::SessionLost,
            Step::DoubtCredentials | Step::RenewCredentials { .. } | Step::RequestScope(_) => {
                Kind::Unauthorized
            }
            _ => return step,
        };
        Ending::new(kind, Reason::Nothing).into()
    }

    /// Runs a decision of an exchange and carries out the step.
    pub(crate) fn decide(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        decision: impl FnOnce(&mut Exchange, &mut Rules<'_>) -> Step,
    ) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        let is_safe = self.tools.is_safe(&exchange.call, exchange.rule, base.cx.policy.trust_hints);
        let mut rules = Rules {
            now,
            era: exchange.era(),
            policy: &base.cx.policy,
            rng: &mut base.cx.rng,
            is_safe,
            connected_before: base.reach.connected_before(),
        };
        let step = decision(exchange, &mut rules);
        self.carry_out(base, now, id, step);
    }

    /// Carries out the next step of an exchange.
    pub(super) fn carry_out(&mut self, base: &mut Base, now: Moment, id: ExchangeId, step: Step) {
        match self.within_its_rights(id, step) {
            Step::AwaitAnswer { until } => self.enter(base, now, id, State::Accepted { until }),
            Step::AwaitLink(then, failure) => {
                self.hiccup(base, now, id, Reason::Transport(failure), Remedy::WaitForLink);
                self.let_out(base, now, id, then);
            }
            Step::CheckSession => {
                if self.pay_for_resend(base, now, id, now).is_some() {
                    self.hiccup(base, now, id, Reason::Nothing, Remedy::CheckSession);
                    self.wait(base, now, id, Waiting::SessionCheck);
                    self.check_session_of(base, now, id);
                }
            }
            Step::Doubt(HeldBack::Credentials(_)) | Step::DoubtCredentials => {
                self.hiccup(base, now, id, Reason::Nothing, Remedy::RenewCredentials);
                self.doubt_credentials(base, now, id);
            }
            Step::Doubt(HeldBack::Era(doubt)) => self.doubt_era(base, now, id, doubt),
            Step::Doubt(HeldBack::Session(suspicion)) => {
                self.hiccup(base, now, id, Reason::Nothing, Remedy::CheckSession);
                self.suspect(base, now, id, suspicion);
            }
            Step::Finish(Ok(answer)) => self.answered(base, now, id, answer, None),
            Step::Finish(Err(ending)) => self.end(base, now, id, ending),
            Step::RenewCredentials { then, challenge, is_suspicion } => {
                self.hiccup(base, now, id, Reason::Nothing, Remedy::RenewCredentials);
                let rejected = self.credentials_of(base, id);
                self.wait(base, now, id, Waiting::Credentials(then));
                let (cx, credentials) = (&mut base.cx, &mut base.credentials);
                if is_suspicion {
                    credentials.renew_on_suspicion(cx, now, rejected, challenge);
                } else {
                    credentials.renew(cx, now, rejected, challenge);
                }
            }
            Step::RenewSession => self.renew_for(base, now, id),
            Step::RequestScope(challenge) => {
                self.hiccup(base, now, id, Reason::Nothing, Remedy::RenewCredentials);
                let rejected = self.credentials_of(base, id);
                self.wait(base, now, id, Waiting::Scope);
                self.request_scope(base, now, id, rejected, challenge);
            }
            Step::Resend { at, because, deferral: Some(status) } => {
                if let Some(exchange) = self.get_mut(id) {
                    exchange.counters.resends += 1;
                }
                self.hiccup(base, now, id, because, Remedy::Resend { at });
                self.wait_as_asked(base, now, id, status, at);
            }
            Step::Resend { at, because, deferral: None } => {
                if let Some(at) = self.pay_for_resend(base, now, id, at) {
                    self.hiccup(base, now, id, because, Remedy::Resend { at });
                    self.wait(base, now, id, Waiting::Until { at, then: Then::Send });
                }
            }
            Step::Resume { at, because } => {
                self.hiccup(base, now, id, because, Remedy::Resume { at });
                self.wait(base, now, id, Waiting::Until { at, then: Then::Resume });
            }
            Step::Again(then) => self.let_out(base, now, id, then),
        }
    }

    pub(crate) fn enter(&mut self, base: &mut Base, now: Moment, id: ExchangeId, state: State) {
        if let Some(exchange) = self.get_mut(id) {
            exchange.enter(now, state);
            self.set_alarm(base, id);
        }
    }

    /// Row 5: gives up the session of a call and lets the call wait for a newer one.
    pub(crate) fn renew_for(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.get_mut(id) else { return };
        let Some(generation) = exchange.sent.as_ref().map(Sent::generation) else { return };
        exchange.newer_than = Some(generation);
        self.hiccup(base, now, id, Reason::Nothing, Remedy::RenewSession);
        base.session.lose(&mut base.cx, generation);
        base.cx.then(CallEffect::LetOut(id, Then::Send));
    }

    /// Row 23: asks for more scope. A refusal of credentials that had less scope than those in force is
    /// ignored.
    fn request_scope(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        rejected: CredentialsId,
        challenge: Challenge,
    ) {
        if base.credentials.has_more_scope_than(rejected) {
            return self.let_out(base, now, id, Then::Send);
        }
        // The wait may be long, and other calls need the place.
        self.give_place_back(base, id);
        base.cx.then(CredentialsEffect::RequestScope(challenge));
    }

    /// Rows 3, 7 and 9: takes a repeat from the budget, which limits how fast calls are repeated. Returns
    /// when the call may go out, `at` at the earliest and later if the budget is empty; a call whose deadline
    /// passes before that ends.
    pub(crate) fn pay_for_resend(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        at: Moment,
    ) -> Option<Moment> {
        let exchange = self.get_mut(id)?;
        let since = exchange.counters.troubled_since.unwrap_or(now);
        let latest = exchange.deadline.at.min(since + base.cx.policy.patience).max(at);
        match base.admission.pay(now, latest) {
            Some(paid) => {
                exchange.counters.resends += 1;
                Some(paid.max(at))
            }
            None => {
                let reason = Reason::Rule(Rule::BudgetEmpty);
                self.end(base, now, id, Ending::new(Kind::Exhausted, reason));
                None
            }
        }
    }

    pub(crate) fn credentials_of(&self, base: &Base, id: ExchangeId) -> CredentialsId {
        let live = self.get(id).and_then(|it| it.live());
        live.map_or(base.cx.credentials, |live| live.credentials)
    }

    pub(crate) fn hiccup(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        reason: Reason,
        remedy: Remedy,
    ) {
        let Some(exchange) = self.get(id) else { return };
        if !exchange.origin.is_application() {
            return;
        }
        let call = exchange.call.clone();
        if reason != Reason::Nothing {
            base.cx.note_failure(now, reason.clone());
        }
        base.cx.tell(Event::Hiccup { exchange: id, call, reason, remedy });
    }
}
