//! Letting exchanges out, and carrying out the steps that they decide on.

use super::Calls;
use super::ending;
use crate::era::Era;
use crate::event::{Event, Remedy};
use crate::exchange::{
    Deadline, Doubt, Ending, Exchange, Live, Phase, Rules, Sent, State, Step, Then, Via, Waiting,
};
use crate::failure::Delivery;
use crate::ids::{AttemptId, CredentialsId, ExchangeId};
use crate::link::CONNECT;
use crate::link::Link;
use crate::message::{Answer, Params};
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};
use crate::output::{Route, Verb};
use crate::replay::ReplayRule;

impl Calls {
    /// Turns a step that renews the session or the credentials into an ending, if the exchange belongs to the
    /// link itself: only calls of the application renew.
    pub(crate) fn within_its_rights(&self, id: ExchangeId, step: Step) -> Step {
        let origin = self.get(id).map(|exchange| exchange.origin).unwrap_or_default();
        let kind = match &step {
            _ if origin.is_application() => return step,
            Step::CheckSession | Step::Doubt(_) | Step::RenewSession => Kind::SessionLost,
            Step::RenewCredentials { .. } | Step::RequestScope(_) => Kind::Unauthorized,
            _ => return step,
        };
        Ending::new(kind, Reason::Nothing).into()
    }
}

impl Link {
    /// Adds a new exchange, which waits to be let out.
    pub(crate) fn new_exchange(
        &mut self,
        now: Moment,
        call: CallName,
        params: Params,
        rule: ReplayRule,
        deadline: Deadline,
    ) -> ExchangeId {
        let id = self.calls.last_id.next();
        let mut exchange = Box::new(Exchange::new(id, call, params, rule, now, deadline));
        let out = u32::from(self.session.is_asking());
        exchange.counters.handshakes_before = self.session.handshakes().saturating_sub(out);
        self.calls.last_id = id;
        self.calls.exchanges.insert(id, exchange);
        id
    }

    /// Lets an exchange out, or notes what it waits for.
    pub(crate) fn let_out(&mut self, now: Moment, id: ExchangeId, then: Then) {
        if self.closing.is_begun() {
            return;
        }
        if self.reach.is_up() {
            return self.let_out_connected(now, id, then);
        }
        self.wait(now, id, Waiting::Link { then, since: now });
        self.drive_dial(now);
    }

    /// Lets an exchange out if it still waits for what `is_meant` describes. Exchanges that were let out
    /// before it may have changed its state.
    pub(crate) fn let_out_if(
        &mut self,
        now: Moment,
        id: ExchangeId,
        then: Then,
        is_meant: impl Fn(&Waiting) -> bool,
    ) {
        let state = self.calls.get(id).map(|exchange| &exchange.state);
        if matches!(state, Some(State::Waiting(waiting)) if is_meant(waiting)) {
            self.let_out(now, id, then);
        }
    }

    /// Lets an exchange out whose turn in the ramp has come, or notes what else it waits for.
    pub(crate) fn let_out_connected(&mut self, now: Moment, id: ExchangeId, then: Then) {
        let Some(exchange) = self.calls.get(id) else { return };
        if !exchange.origin.is_application() {
            return self.post(now, id);
        }
        if self.must_await_credentials(now) {
            return self.wait(now, id, Waiting::Credentials(then));
        }
        let Some(exchange) = self.calls.get(id) else { return };
        let is_connect = &*exchange.call.method == CONNECT;
        let newer_than = exchange.newer_than.unwrap_or_default();
        if then == Then::Resume {
            return self.resume(now, id);
        }
        if !is_connect && !self.admission.take_place(id, self.cx.policy.in_flight) {
            self.admission.stand_in_line(id);
            return self.wait(now, id, Waiting::Place);
        }
        // Row 5: a call that has lost a session goes on only in a newer one.
        let ready = self.session.ready().filter(|ready| ready.generation() > newer_than);
        let Some(ready) = ready else {
            self.wait(now, id, Waiting::Session { since: now });
            self.ensure_session(now);
            return self.review_session_waiter(now, id);
        };
        // Without a description of a stateless server, `connect` goes on and asks for one.
        if is_connect && let Some(server) = ready.server.clone() {
            return self.finish(now, id, Ok(Answer::Result(server)), None);
        }
        if ready.version.era() == Era::Modern && self.stand_in(now, id) {
            return;
        }
        let Some(exchange) = self.calls.get(id) else { return };
        match self.admission.pass_gates(now, &exchange.call, id) {
            Ok(()) => self.post(now, id),
            Err((until, status)) => self.wait_at_gate(now, id, until, status),
        }
    }

    /// Moves an exchange into a wait and sets its timer.
    pub(crate) fn wait(&mut self, now: Moment, id: ExchangeId, waiting: Waiting) {
        let Some(exchange) = self.calls.get_mut(id) else { return };
        exchange.enter(now, State::Waiting(waiting));
        self.set_alarm(id);
    }

    /// Sends the request, for the first time or again.
    pub(crate) fn post(&mut self, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.calls.get(id) else { return };
        let in_force = || self.session.ready().map(|ready| ready.address.clone());
        let Some(mut to) = exchange.to.clone().or_else(in_force) else {
            // Only a request of the link itself can come here without a session.
            return self.end(now, id, Ending::new(Kind::SessionLost, Reason::Nothing));
        };
        let wire_id = self.calls.next_wire_id();
        if to.era() == Era::Legacy && !self.leave_rounds(now, id) {
            return;
        }
        let Some(exchange) = self.calls.get(id) else { return };
        let body = self.session.body(to.era(), &exchange.params, wire_id, &exchange.call.method);
        let Some(exchange) = self.calls.get_mut(id) else { return };
        (exchange.last_refusal, exchange.refused_with) = (None, None);
        if exchange.counters.session_renewed && exchange.newer_than.is_some() {
            // After a renewal, the connection that made the new session is sure to know it.
            let home = self.session.ready().and_then(|ready| ready.home);
            exchange.route = home.map_or(Route::Any, Route::Prefer);
        }
        if let Some(target) = &exchange.target {
            to.target = Some(target.clone());
        }
        let old = exchange.sent.replace(Sent { wire_id, to: to.clone() });
        let is_doubtful =
            exchange.counters.delivery() == Delivery::Unknown && !exchange.asks_for_task();
        exchange.resume_state.start_over();
        exchange.counters.fruitless = 0;
        if let Some(old) = old {
            self.calls.wires.remove(&old.wire_id);
            if is_doubtful {
                self.tell_cancelled(now, &old);
            }
        }
        self.calls.wires.insert(wire_id, id);
        let attempt = self.calls.request(&mut self.cx, id, Verb::Post { body }, to);
        self.go_live(now, id, attempt, Via::Post, None);
    }

    /// Requests the rest of a broken stream, in the session that it belongs to. The bounds of row 14 are
    /// checked here too, because a wait for the link or for credentials may have led here.
    fn resume(&mut self, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.calls.get(id) else { return };
        let at = exchange.earliest_resume();
        if !exchange.may_resume() {
            self.end(now, id, Ending::new(Kind::Exhausted, Reason::Rule("resumed too often")));
        } else if now < at {
            self.wait(now, id, Waiting::Until { at, then: Then::Resume });
        } else {
            self.resume_beside(now, id, None);
        }
    }

    /// Requests the rest of a stream. `replaces` is a stream that stays open until the new one is accepted.
    pub(crate) fn resume_beside(
        &mut self,
        now: Moment,
        id: ExchangeId,
        replaces: Option<Box<Live>>,
    ) {
        let Some(exchange) = self.calls.get_mut(id) else { return };
        let Some(mut to) = exchange.sent.as_ref().map(|sent| sent.to.clone()) else { return };
        if let Some(target) = &exchange.target {
            to.target = Some(target.clone());
        }
        exchange.counters.resumes += 1;
        exchange.counters.resumed_at = Some(now);
        let verb = Verb::Get { last_event_id: exchange.resume_state.last_event_id().cloned() };
        let attempt = self.calls.request(&mut self.cx, id, verb, to);
        self.go_live(now, id, attempt, Via::Resume, replaces);
    }

    fn go_live(
        &mut self,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        via: Via,
        replaces: Option<Box<Live>>,
    ) {
        let credentials = self.cx.credentials;
        let Some(exchange) = self.calls.get_mut(id) else { return };
        exchange.counters.attempts += 1;
        let phase = Phase::Asked;
        let connection = None;
        let live = Live { attempt, via, phase, credentials, connection, last_sign: now, replaces };
        exchange.enter(now, State::Live(live));
        self.set_alarm(id);
    }

    /// Runs a decision of an exchange and carries out the step.
    pub(crate) fn decide(
        &mut self,
        now: Moment,
        id: ExchangeId,
        decision: impl FnOnce(&mut Exchange, &mut Rules<'_>) -> Step,
    ) {
        let Some(exchange) = self.calls.exchanges.get_mut(&id) else { return };
        let is_safe =
            self.calls.tools.is_safe(&exchange.call, exchange.rule, self.cx.policy.trust_hints);
        let mut rules = Rules {
            now,
            era: exchange.era(),
            policy: &self.cx.policy,
            rng: &mut self.cx.rng,
            is_safe,
            connected_before: self.reach.connected_before(),
        };
        let step = decision(exchange, &mut rules);
        self.carry_out(now, id, step);
    }

    fn carry_out(&mut self, now: Moment, id: ExchangeId, step: Step) {
        match self.calls.within_its_rights(id, step) {
            Step::AwaitAnswer { until } => self.enter(now, id, State::Accepted { until }),
            Step::AwaitLink(then, failure) => {
                self.hiccup(now, id, Reason::Transport(failure), Remedy::WaitForLink);
                self.let_out(now, id, then);
            }
            Step::CheckSession => {
                if self.pay_for_resend(now, id, now).is_some() {
                    self.hiccup(now, id, Reason::Nothing, Remedy::CheckSession);
                    self.wait(now, id, Waiting::SessionCheck);
                    self.check_session_of(now, id);
                }
            }
            Step::Doubt(Doubt::Era(doubt)) => self.doubt_era(now, id, doubt),
            Step::Doubt(Doubt::Session(suspicion)) => {
                self.hiccup(now, id, Reason::Nothing, Remedy::CheckSession);
                self.suspect(now, id, suspicion);
            }
            Step::Finish(Ok(answer)) => self.answered(now, id, answer, None),
            Step::Finish(Err(ending)) => self.end(now, id, ending),
            Step::RenewCredentials { then, challenge } => {
                self.hiccup(now, id, Reason::Nothing, Remedy::RenewCredentials);
                let rejected = self.credentials_of(id);
                self.wait(now, id, Waiting::Credentials(then));
                self.renew_credentials(now, rejected, challenge);
            }
            Step::RenewSession => self.renew_for(now, id),
            Step::RequestScope(challenge) => {
                self.hiccup(now, id, Reason::Nothing, Remedy::RenewCredentials);
                let rejected = self.credentials_of(id);
                self.wait(now, id, Waiting::Scope);
                self.request_scope(now, id, rejected, challenge);
            }
            Step::Resend { at, because, deferral: Some(status) } => {
                if let Some(exchange) = self.calls.get_mut(id) {
                    exchange.counters.resends += 1;
                }
                self.hiccup(now, id, because, Remedy::Resend { at });
                self.wait_as_asked(now, id, status, at);
            }
            Step::Resend { at, because, deferral: None } => {
                if let Some(at) = self.pay_for_resend(now, id, at) {
                    self.hiccup(now, id, because, Remedy::Resend { at });
                    self.wait(now, id, Waiting::Until { at, then: Then::Send });
                }
            }
            Step::Resume { at, because } => {
                self.hiccup(now, id, because, Remedy::Resume { at });
                self.wait(now, id, Waiting::Until { at, then: Then::Resume });
            }
            Step::Again(then) => self.let_out(now, id, then),
        }
    }

    pub(crate) fn enter(&mut self, now: Moment, id: ExchangeId, state: State) {
        if let Some(exchange) = self.calls.get_mut(id) {
            exchange.enter(now, state);
            self.set_alarm(id);
        }
    }

    /// Row 5: gives up the session of a call and lets the call wait for a newer one.
    pub(crate) fn renew_for(&mut self, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.calls.get_mut(id) else { return };
        let Some(generation) = exchange.sent.as_ref().map(Sent::generation) else { return };
        exchange.newer_than = Some(generation);
        self.hiccup(now, id, Reason::Nothing, Remedy::RenewSession);
        self.lose_session(now, generation);
        self.let_out(now, id, Then::Send);
    }

    /// Rows 3, 7 and 9: takes a repeat from the budget, which limits how fast calls are repeated. Returns
    /// when the call may go out, `at` at the earliest and later if the budget is empty; a call whose deadline
    /// passes before that ends.
    pub(crate) fn pay_for_resend(
        &mut self,
        now: Moment,
        id: ExchangeId,
        at: Moment,
    ) -> Option<Moment> {
        let exchange = self.calls.get_mut(id)?;
        let since = exchange.counters.troubled_since.unwrap_or(now);
        let latest = exchange.deadline.at.min(since + self.cx.policy.patience).max(at);
        match self.admission.pay(now, latest) {
            Some(paid) => {
                exchange.counters.resends += 1;
                Some(paid.max(at))
            }
            None => {
                self.end(now, id, Ending::new(Kind::Exhausted, ending::BUDGET_EMPTY));
                None
            }
        }
    }

    pub(crate) fn credentials_of(&self, id: ExchangeId) -> CredentialsId {
        let live = self.calls.get(id).and_then(|it| it.live());
        live.map_or(self.cx.credentials, |live| live.credentials)
    }

    pub(crate) fn hiccup(&mut self, now: Moment, id: ExchangeId, reason: Reason, remedy: Remedy) {
        let Some(exchange) = self.calls.get(id) else { return };
        if !exchange.origin.is_application() {
            return;
        }
        let call = exchange.call.clone();
        if reason != Reason::Nothing {
            self.reach.note_failure(now, reason.clone());
        }
        self.cx.tell(Event::Hiccup { exchange: id, call, reason, remedy });
    }
}
