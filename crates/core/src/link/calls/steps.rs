//! Letting exchanges out, and carrying out the steps that they decide on.

use super::Calls;
use super::ending::{BUDGET_EMPTY, tell_cancelled};
use crate::era::Era;
use crate::event::{Event, Remedy};
use crate::exchange::{
    Awaited, Deadline, Doubt, Ending, Exchange, Live, Phase, Rules, Sent, State, Step, Then, Via,
    Waiting,
};
use crate::failure::Delivery;
use crate::head::Challenge;
use crate::ids::{AttemptId, CredentialsId, ExchangeId};
use crate::link::CONNECT;
use crate::link::base::Base;
use crate::link::effects::{CallEffect, CredentialsEffect, ReachEffect, SessionEffect};
use crate::link::session::Sessions;
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

    /// Adds a new exchange, which waits to be let out.
    pub(crate) fn add(
        &mut self,
        session: &Sessions,
        now: Moment,
        call: CallName,
        params: Params,
        rule: ReplayRule,
        deadline: Deadline,
    ) -> ExchangeId {
        let id = self.last_id.next();
        let mut exchange = Box::new(Exchange::new(id, call, params, rule, now, deadline));
        let out = u32::from(session.is_asking());
        exchange.counters.handshakes_before = session.handshakes().saturating_sub(out);
        self.last_id = id;
        self.exchanges.insert(id, exchange);
        id
    }

    /// Lets an exchange out, or notes what it waits for.
    pub(crate) fn let_out(&mut self, base: &mut Base, now: Moment, id: ExchangeId, then: Then) {
        if base.cx.is_closing() {
            return;
        }
        if base.reach.is_up() {
            return self.let_out_connected(base, now, id, then);
        }
        self.wait(base, now, id, Waiting::Link { then, since: now });
        base.cx.then(ReachEffect::Drive);
    }

    /// Lets an exchange out if it still waits for this. Exchanges that were let out before it may have changed
    /// its state.
    pub(super) fn let_out_if(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        awaited: Awaited,
    ) {
        let state = self.get(id).map(|exchange| &exchange.state);
        if let Some(State::Waiting(waiting)) = state
            && waiting.is_for(awaited)
        {
            let then = waiting.then();
            self.let_out(base, now, id, then);
        }
    }

    /// Lets an exchange out whose turn in the ramp has come, or notes what else it waits for.
    pub(crate) fn let_out_connected(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        then: Then,
    ) {
        let Some(exchange) = self.get(id) else { return };
        if !exchange.origin.is_application() {
            return self.post(base, now, id);
        }
        if base.credentials.must_await(&mut base.cx, now) {
            return self.wait(base, now, id, Waiting::Credentials(then));
        }
        let Some(exchange) = self.get(id) else { return };
        let is_connect = &*exchange.call.method == CONNECT;
        let newer_than = exchange.newer_than.unwrap_or_default();
        if then == Then::Resume {
            return self.resume(base, now, id);
        }
        if !is_connect && !base.admission.take_place(id, base.cx.policy.in_flight) {
            base.admission.stand_in_line(id);
            return self.wait(base, now, id, Waiting::Place);
        }
        // Row 5: a call that has lost a session goes on only in a newer one.
        let ready = base.session.ready().filter(|ready| ready.generation() > newer_than);
        let Some(ready) = ready else {
            self.wait(base, now, id, Waiting::Session { since: now });
            base.cx.then(SessionEffect::Ensure);
            return base.cx.then(CallEffect::ReviewSessionWaiter(id));
        };
        // Without a description of a stateless server, `connect` goes on and asks for one.
        if is_connect && let Some(server) = ready.server.clone() {
            return self.finish(base, now, id, Ok(Answer::Result(server)), None);
        }
        if ready.version.era() == Era::Modern && self.stand_in(base, now, id) {
            return;
        }
        let Some(exchange) = self.get(id) else { return };
        match base.admission.pass_gates(now, &exchange.call, id) {
            Ok(()) => self.post(base, now, id),
            Err((until, status)) => self.wait_at_gate(base, now, id, until, status),
        }
    }

    /// Moves an exchange into a wait and sets its timer.
    pub(crate) fn wait(&mut self, base: &mut Base, now: Moment, id: ExchangeId, waiting: Waiting) {
        let Some(exchange) = self.get_mut(id) else { return };
        exchange.enter(now, State::Waiting(waiting));
        self.set_alarm(base, id);
    }

    /// Sends the request, for the first time or again.
    pub(crate) fn post(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.get(id) else { return };
        let in_force = || base.session.ready().map(|ready| ready.address.clone());
        let Some(mut to) = exchange.to.clone().or_else(in_force) else {
            // Only a request of the link itself can come here without a session.
            return self.end(base, now, id, Ending::new(Kind::SessionLost, Reason::Nothing));
        };
        let wire_id = base.cx.next_wire_id();
        if to.era() == Era::Legacy && !self.leave_rounds(base, now, id) {
            return;
        }
        let Some(exchange) = self.get(id) else { return };
        let body = base.session.body(to.era(), &exchange.params, wire_id, &exchange.call.method);
        let Some(exchange) = self.get_mut(id) else { return };
        (exchange.last_refusal, exchange.refused_with) = (None, None);
        if exchange.counters.session_renewed && exchange.newer_than.is_some() {
            // After a renewal, the connection that made the new session is sure to know it.
            let home = base.session.ready().and_then(|ready| ready.home);
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
            self.wires.remove(&old.wire_id);
            if is_doubtful {
                tell_cancelled(base, now, &old);
            }
        }
        self.wires.insert(wire_id, id);
        let attempt = self.request(&mut base.cx, id, Verb::Post { body }, to);
        self.go_live(base, now, id, attempt, Via::Post, None);
    }

    /// Requests the rest of a broken stream, in the session that it belongs to. The bounds of row 14 are
    /// checked here too, because a wait for the link or for credentials may have led here.
    fn resume(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.get(id) else { return };
        let at = exchange.earliest_resume();
        if !exchange.may_resume() {
            self.end(
                base,
                now,
                id,
                Ending::new(Kind::Exhausted, Reason::Rule("resumed too often")),
            );
        } else if now < at {
            self.wait(base, now, id, Waiting::Until { at, then: Then::Resume });
        } else {
            self.resume_beside(base, now, id, None);
        }
    }

    /// Requests the rest of a stream. `replaces` is a stream that stays open until the new one is accepted.
    pub(crate) fn resume_beside(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        replaces: Option<Box<Live>>,
    ) {
        let Some(exchange) = self.get_mut(id) else { return };
        let Some(mut to) = exchange.sent.as_ref().map(|sent| sent.to.clone()) else { return };
        if let Some(target) = &exchange.target {
            to.target = Some(target.clone());
        }
        exchange.counters.resumes += 1;
        exchange.counters.resumed_at = Some(now);
        let verb = Verb::Get { last_event_id: exchange.resume_state.last_event_id().cloned() };
        let attempt = self.request(&mut base.cx, id, verb, to);
        self.go_live(base, now, id, attempt, Via::Resume, replaces);
    }

    fn go_live(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        via: Via,
        replaces: Option<Box<Live>>,
    ) {
        let credentials = base.cx.credentials;
        let Some(exchange) = self.get_mut(id) else { return };
        exchange.counters.attempts += 1;
        let phase = Phase::Asked;
        let connection = None;
        let live = Live { attempt, via, phase, credentials, connection, last_sign: now, replaces };
        exchange.enter(now, State::Live(live));
        self.set_alarm(base, id);
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
            Step::Doubt(Doubt::Era(doubt)) => self.doubt_era(base, now, id, doubt),
            Step::Doubt(Doubt::Session(suspicion)) => {
                self.hiccup(base, now, id, Reason::Nothing, Remedy::CheckSession);
                self.suspect(base, now, id, suspicion);
            }
            Step::Finish(Ok(answer)) => self.answered(base, now, id, answer, None),
            Step::Finish(Err(ending)) => self.end(base, now, id, ending),
            Step::RenewCredentials { then, challenge } => {
                self.hiccup(base, now, id, Reason::Nothing, Remedy::RenewCredentials);
                let rejected = self.credentials_of(base, id);
                self.wait(base, now, id, Waiting::Credentials(then));
                base.credentials.renew(&mut base.cx, now, rejected, challenge);
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
                self.end(base, now, id, Ending::new(Kind::Exhausted, BUDGET_EMPTY));
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
