//! Letting exchanges out: each goes out at once, or waits for a connection, credentials, a place, a session or
//! a gate.

use ridethrough_wire::era::Era;
use ridethrough_wire::message::{Answer, Params};

use super::Calls;
use super::ending::tell_cancelled;
use crate::exchange::{
    Awaited, Deadline, Ending, Exchange, Live, Phase, Sent, State, Then, Via, Waiting,
};
use crate::failure::Delivery;
use crate::ids::{AttemptId, ExchangeId};
use crate::link::CONNECT;
use crate::link::effects::{CallEffect, ReachEffect, SessionEffect};
use crate::outcome::{CallName, Kind, Reason};
use crate::output::{Route, Verb};
use crate::replay::ReplayRule;
use crate::rule::Rule;

impl Calls {
    /// Adds a new exchange, which waits to be let out.
    pub(crate) fn add(
        &mut self,
        call: CallName,
        params: Params,
        rule: ReplayRule,
        deadline: Deadline,
    ) -> ExchangeId {
        let (now, session) = (self.base.cx.now, &self.base.session);
        let out = u32::from(session.is_asking());
        let handshakes_before = session.handshakes().saturating_sub(out);
        self.all.add(|id| {
            let mut exchange = Exchange::new(id, call, params, rule, now, deadline);
            exchange.counters.handshakes_before = handshakes_before;
            exchange
        })
    }

    /// Lets an exchange out, or notes what it waits for.
    pub(crate) fn let_out(&mut self, id: ExchangeId, then: Then) {
        if self.base.cx.is_closing() {
            return;
        }
        if self.base.reach.lets_calls_out() {
            return self.let_out_connected(id, then);
        }
        self.wait(id, Waiting::Link { then, since: self.base.cx.now });
        self.base.cx.then(ReachEffect::Drive);
    }

    /// Lets an exchange out if it still waits for this. Exchanges that were let out before it may have changed
    /// its state.
    pub(super) fn let_out_if(&mut self, id: ExchangeId, awaited: Awaited) {
        let state = self.all.get(id).map(|exchange| &exchange.state);
        if let Some(State::Waiting(waiting)) = state
            && waiting.is_for(awaited)
        {
            let then = waiting.then();
            self.let_out(id, then);
        }
    }

    /// Lets an exchange out whose turn in the ramp has come, or notes what else it waits for.
    pub(crate) fn let_out_connected(&mut self, id: ExchangeId, then: Then) {
        let now = self.base.cx.now;
        let Some(exchange) = self.all.get(id) else { return };
        if !exchange.origin.is_application() {
            return self.post(id);
        }
        if self.base.credentials.must_await(&mut self.base.cx) {
            return self.wait(id, Waiting::Credentials(then));
        }
        let Some(exchange) = self.all.get(id) else { return };
        let is_connect = &*exchange.call.method == CONNECT;
        let newer_than = exchange.newer_than.unwrap_or_default();
        if then == Then::Resume {
            return self.resume(id);
        }
        if !is_connect && !self.base.admission.take_place(id, self.base.cx.policy.in_flight) {
            self.base.admission.stand_in_line(id);
            return self.wait(id, Waiting::Place);
        }
        // Row 5: a call that has lost a session goes on only in a newer one.
        let ready = self.base.session.ready().filter(|ready| ready.generation() > newer_than);
        let Some(ready) = ready else {
            self.wait(id, Waiting::Session { since: now });
            self.base.cx.then(SessionEffect::Ensure);
            return self.base.cx.then(CallEffect::ReviewSessionWaiter(id));
        };
        // Without a description of a stateless server, `connect` goes on and asks for one.
        if is_connect && let Some(server) = ready.server.clone() {
            return self.finish(id, Ok(Answer::Result(server)), None);
        }
        if ready.version.era() == Era::Modern && self.stand_in(id) {
            return;
        }
        let Some(exchange) = self.all.get(id) else { return };
        match self.base.admission.pass_gates(now, &exchange.call, id) {
            Ok(()) if self.must_wait(id) => self.wait_on_probation(id),
            Ok(()) => self.post(id),
            Err((until, status)) => self.wait_at_gate(id, until, status),
        }
    }

    /// Moves an exchange into a wait and sets its timer.
    pub(crate) fn wait(&mut self, id: ExchangeId, waiting: Waiting) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        exchange.enter(self.base.cx.now, State::Waiting(waiting));
        self.set_alarm(id);
    }

    /// Sends the request, for the first time or again.
    pub(crate) fn post(&mut self, id: ExchangeId) {
        let Some(exchange) = self.all.get(id) else { return };
        let in_force = || self.base.session.ready().map(|ready| ready.address.clone());
        let Some(mut to) = exchange.to.clone().or_else(in_force) else {
            // Only a request of the link itself can come here without a session.
            return self.end(id, Ending::new(Kind::SessionLost, Reason::Nothing));
        };
        let wire_id = self.base.cx.next_wire_id();
        if to.era() == Era::Legacy && !self.leave_rounds(id) {
            return;
        }
        let Some(exchange) = self.all.get(id) else { return };
        let can = exchange.capabilities.as_ref();
        let method = &exchange.call.method;
        let body = self.base.session.body(to.era(), &exchange.params, wire_id, method, can);
        let Some(exchange) = self.all.get_mut(id) else { return };
        (exchange.last_refusal, exchange.refused_with) = (None, None);
        if exchange.counters.session_renewed && exchange.newer_than.is_some() {
            // After a renewal, the connection that made the new session is sure to know it.
            let home = self.base.session.ready().and_then(|ready| ready.home);
            exchange.route = home.map_or(Route::Any, Route::Prefer);
        }
        if let Some(target) = &exchange.target {
            to.target = Some(target.clone());
        }
        let old = exchange.sent.replace(Sent { wire_id, size: body.len(), to: to.clone() });
        let is_doubtful =
            exchange.counters.delivery() == Delivery::Unknown && !exchange.asks_for_task();
        // What follows a redirect is the request that was redirected, and not another one.
        let is_followed =
            |old: &Sent| old.generation() == to.generation && old.to.target != to.target;
        exchange.resume_state.start_over();
        exchange.counters.fruitless = 0;
        if let Some(old) = old {
            self.all.forget_wire(old.wire_id);
            if is_doubtful && !is_followed(&old) {
                tell_cancelled(&mut self.base, &old);
            }
        }
        self.all.note_wire(wire_id, id);
        let attempt = self.request(id, Verb::Post { body }, to);
        self.go_live(id, attempt, Via::Post, None);
    }

    /// Requests the rest of a broken stream, in the session that it belongs to. The bounds of row 14 are
    /// checked here too, because a wait for the link or for credentials may have led here.
    fn resume(&mut self, id: ExchangeId) {
        let Some(exchange) = self.all.get(id) else { return };
        let at = exchange.earliest_resume();
        if !exchange.may_resume() {
            self.end(id, Ending::new(Kind::Exhausted, Reason::Rule(Rule::ResumedTooOften)));
        } else if self.base.cx.now < at {
            self.wait(id, Waiting::Until { at, then: Then::Resume });
        } else {
            self.resume_beside(id, None);
        }
    }

    /// Requests the rest of a stream. `replaces` is a stream that stays open until the new one is accepted.
    pub(crate) fn resume_beside(&mut self, id: ExchangeId, replaces: Option<Box<Live>>) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let Some(mut to) = exchange.sent.as_ref().map(|sent| sent.to.clone()) else { return };
        if let Some(target) = &exchange.target {
            to.target = Some(target.clone());
        }
        exchange.counters.resumes += 1;
        exchange.counters.resumed_at = Some(self.base.cx.now);
        let verb = Verb::Get { last_event_id: exchange.resume_state.last_event_id().cloned() };
        let attempt = self.request(id, verb, to);
        self.go_live(id, attempt, Via::Resume, replaces);
    }

    fn go_live(
        &mut self,
        id: ExchangeId,
        attempt: AttemptId,
        via: Via,
        replaces: Option<Box<Live>>,
    ) {
        let now = self.base.cx.now;
        let credentials = self.base.cx.credentials;
        let Some(exchange) = self.all.get_mut(id) else { return };
        exchange.counters.attempts += 1;
        let phase = Phase::Asked;
        let connection = None;
        let live = Live { attempt, via, phase, credentials, connection, last_sign: now, replaces };
        exchange.enter(now, State::Live(live));
        self.set_alarm(id);
    }
}
