//! Carrying out the steps that exchanges decide on.

use super::Calls;
use crate::event::{Event, Remedy};
use crate::exchange::{Ending, Exchange, HeldBack, Rules, Sent, State, Step, Then, Waiting};
use crate::head::Challenge;
use crate::ids::{CredentialsId, ExchangeId};
use crate::link::effects::{CallEffect, CredentialsEffect};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::rule::Rule;

impl Calls {
    /// Turns a step that renews the session or the credentials into an ending, if the exchange belongs to the
    /// link itself: only calls of the application renew.
    pub(crate) fn within_its_rights(&self, id: ExchangeId, step: Step) -> Step {
        let origin = self.all.get(id).map(|exchange| exchange.origin).unwrap_or_default();
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
        id: ExchangeId,
        decision: impl FnOnce(&mut Exchange, &mut Rules<'_>) -> Step,
    ) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let is_safe =
            self.tools.is_safe(&exchange.call, exchange.rule, self.base.cx.policy.trust_hints);
        let mut rules = Rules {
            now: self.base.cx.now,
            era: exchange.era(),
            policy: &self.base.cx.policy,
            rng: &mut self.base.cx.rng,
            is_safe,
            connected_before: self.base.reach.connected_before(),
        };
        let step = decision(exchange, &mut rules);
        self.carry_out(id, step);
    }

    /// Carries out the next step of an exchange.
    pub(super) fn carry_out(&mut self, id: ExchangeId, step: Step) {
        match self.within_its_rights(id, step) {
            Step::AwaitAnswer { until } => self.enter(id, State::Accepted { until }),
            Step::AwaitLink(then, failure) => {
                self.hiccup(id, Reason::Transport(failure), Remedy::WaitForLink);
                self.let_out(id, then);
            }
            Step::CheckSession => {
                if self.pay_for_resend(id, self.base.cx.now).is_some() {
                    self.hiccup(id, Reason::Nothing, Remedy::CheckSession);
                    self.wait(id, Waiting::SessionCheck);
                    self.check_session_of(id);
                }
            }
            Step::Doubt(HeldBack::Credentials(_)) | Step::DoubtCredentials => {
                self.hiccup(id, Reason::Nothing, Remedy::RenewCredentials);
                self.doubt_credentials(id);
            }
            Step::Doubt(HeldBack::Era(doubt)) => self.doubt_era(id, doubt),
            Step::Doubt(HeldBack::Session(suspicion)) => {
                self.hiccup(id, Reason::Nothing, Remedy::CheckSession);
                self.suspect(id, suspicion);
            }
            Step::Finish(Ok(answer)) => self.answered(id, answer, None),
            Step::Finish(Err(ending)) => self.end(id, ending),
            Step::RenewCredentials { then, challenge, is_suspicion } => {
                self.hiccup(id, Reason::Nothing, Remedy::RenewCredentials);
                let rejected = self.credentials_of(id);
                self.wait(id, Waiting::Credentials(then));
                let (cx, credentials) = (&mut self.base.cx, &mut self.base.credentials);
                if is_suspicion {
                    credentials.renew_on_suspicion(cx, rejected, challenge);
                } else {
                    credentials.renew(cx, rejected, challenge);
                }
            }
            Step::RenewSession => self.renew_for(id),
            Step::RequestScope(challenge) => {
                self.hiccup(id, Reason::Nothing, Remedy::RenewCredentials);
                let rejected = self.credentials_of(id);
                self.wait(id, Waiting::Scope);
                self.request_scope(id, rejected, challenge);
            }
            Step::Resend { at, because, deferral: Some(status) } => {
                if let Some(exchange) = self.all.get_mut(id) {
                    exchange.counters.resends += 1;
                }
                self.hiccup(id, because, Remedy::Resend { at });
                self.wait_as_asked(id, status, at);
            }
            Step::Resend { at, because, deferral: None } => {
                if let Some(at) = self.pay_for_resend(id, at) {
                    self.hiccup(id, because, Remedy::Resend { at });
                    self.wait(id, Waiting::Until { at, then: Then::Send });
                }
            }
            Step::Resume { at, because } => {
                self.hiccup(id, because, Remedy::Resume { at });
                self.wait(id, Waiting::Until { at, then: Then::Resume });
            }
            Step::Again(then) => self.let_out(id, then),
        }
    }

    pub(crate) fn enter(&mut self, id: ExchangeId, state: State) {
        if let Some(exchange) = self.all.get_mut(id) {
            exchange.enter(self.base.cx.now, state);
            self.set_alarm(id);
        }
    }

    /// Row 5: gives up the session of a call and lets the call wait for a newer one.
    pub(crate) fn renew_for(&mut self, id: ExchangeId) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let Some(generation) = exchange.sent.as_ref().map(Sent::generation) else { return };
        exchange.newer_than = Some(generation);
        self.hiccup(id, Reason::Nothing, Remedy::RenewSession);
        self.base.session.lose(&mut self.base.cx, generation);
        self.base.cx.then(CallEffect::LetOut(id, Then::Send));
    }

    /// Row 23: asks for more scope. A refusal of credentials that had less scope than those in force is
    /// ignored.
    fn request_scope(&mut self, id: ExchangeId, rejected: CredentialsId, challenge: Challenge) {
        if self.base.credentials.has_more_scope_than(rejected) {
            return self.let_out(id, Then::Send);
        }
        // The wait may be long, and other calls need the place.
        self.give_place_back(id);
        self.base.cx.then(CredentialsEffect::RequestScope(challenge));
    }

    /// Rows 3, 7 and 9: takes a repeat from the budget, which limits how fast calls are repeated. Returns
    /// when the call may go out, `at` at the earliest and later if the budget is empty; a call whose deadline
    /// passes before that ends.
    pub(crate) fn pay_for_resend(&mut self, id: ExchangeId, at: Moment) -> Option<Moment> {
        let now = self.base.cx.now;
        let exchange = self.all.get_mut(id)?;
        let since = exchange.counters.troubled_since.unwrap_or(now);
        let latest = exchange.deadline.at.min(since + self.base.cx.policy.patience).max(at);
        match self.base.admission.pay(now, latest) {
            Some(paid) => {
                exchange.counters.resends += 1;
                Some(paid.max(at))
            }
            None => {
                let reason = Reason::Rule(Rule::BudgetEmpty);
                self.end(id, Ending::new(Kind::Exhausted, reason));
                None
            }
        }
    }

    pub(crate) fn credentials_of(&self, id: ExchangeId) -> CredentialsId {
        let live = self.all.get(id).and_then(|it| it.live());
        live.map_or(self.base.cx.credentials, |live| live.credentials)
    }

    pub(crate) fn hiccup(&mut self, id: ExchangeId, reason: Reason, remedy: Remedy) {
        let Some(exchange) = self.all.get(id) else { return };
        if !exchange.origin.is_application() {
            return;
        }
        let call = exchange.call.clone();
        if reason != Reason::Nothing {
            self.base.cx.note_failure(reason.clone());
        }
        self.base.cx.tell(Event::Hiccup { exchange: id, call, reason, remedy });
    }
}
