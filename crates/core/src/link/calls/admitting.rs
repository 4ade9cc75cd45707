//! Letting calls out within the places in flight, and holding them at the gates that a busy server closes.

use std::time::Duration;

use http::StatusCode;

use super::Calls;
use super::exchanges::Exchanges;
use crate::event::Event;
use crate::exchange::{Awaited, Ending, Exchange, Purpose, Then, Waiting};
use crate::ids::ExchangeId;
use crate::link::admission::{GateKey, gate_of};
use crate::link::base::Base;
use crate::link::effects::CallEffect;
use crate::link::own_request::{OwnOutcome, OwnRequest};
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::rule::Rule;

/// How long the link waits for an answer when it asks whether a server that closed a gate serves again.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
/// The longest time that a gate stays closed. One absurd `Retry-After` must not shut a client out for ever:
/// later calls may ask once an hour.
const LONGEST_GATE: Duration = Duration::from_secs(3600);

impl Calls {
    /// Gives the place of a call back, and lets out a call that waits for it.
    pub(super) fn give_place_back(&mut self, id: ExchangeId) {
        if self.base.admission.give_place_back(id) {
            self.base.cx.then(CallEffect::FillPlaces);
        }
    }

    /// Lets out the calls that have waited longest for a place. A call that gives its place back meanwhile is
    /// served by the filling that is under way.
    pub(super) fn fill_places(&mut self) {
        if self.base.admission.begin_filling() {
            self.fill_next();
        }
    }

    /// Lets out the call that has waited longest for a place, and then those after it.
    pub(super) fn fill_next(&mut self) {
        if let Some(id) = self.base.admission.fill_next(self.base.cx.policy.in_flight) {
            self.base.cx.then(CallEffect::LetOutIf(id, Awaited::Place));
            self.base.cx.then(CallEffect::FillNext);
        }
    }

    /// Row 2: lets a call wait for the time that the server asked for, and later calls of its kind with it.
    pub(crate) fn wait_as_asked(&mut self, id: ExchangeId, status: StatusCode, until: Moment) {
        let key = self.all.get(id).and_then(|each| gate_of(status, &each.call));
        match key.and_then(|key| self.base.admission.closed_until(&key)) {
            Some(gate) => self.wait_at_gate(id, gate.max(until), status),
            None => self.wait(id, Waiting::Until { at: until, then: Then::Send }),
        }
    }

    /// Row 2: closes the gate for calls of this kind, whatever becomes of the call that was deferred.
    pub(crate) fn close_gate(
        &mut self,
        id: ExchangeId,
        status: StatusCode,
        hint: Option<Duration>,
    ) {
        let now = self.base.cx.now;
        let Some(exchange) = self.all.get(id) else { return };
        let Some(key) = gate_of(status, &exchange.call) else { return };
        let policy = &self.base.cx.policy;
        // Calls of one kind wait together, so the backoff is its whole width and not a part of it by chance.
        let backoff = policy.backoff.width(exchange.counters.resends);
        let hint = hint.map(|hint| hint.min(LONGEST_GATE));
        let wait = exchange.deferral(policy, hint, backoff);
        self.base.admission.close_gate(now, key.clone(), status, wait);
        self.base.cx.tell(Event::GateClosed { call: key.clone(), until: now + wait });
        for waiter in self.waiters_at(&key) {
            self.wait_at_gate(waiter, now + wait, status);
        }
        self.set_gate_alarm();
    }

    /// Lets a call wait at a gate, or ends it if its deadline comes before the gate can open.
    pub(crate) fn wait_at_gate(&mut self, id: ExchangeId, until: Moment, status: StatusCode) {
        let Some(exchange) = self.all.get(id) else { return };
        if until < exchange.deadline.at {
            self.wait(id, Waiting::Gate);
            self.set_gate_alarm();
            // A call that waits at a gate is not in flight: another call may have its place.
            return self.give_place_back(id);
        }
        let reason = Reason::Rule(Rule::HintBeyondDeadline);
        let ending = Ending::new(Kind::rejected(status), reason);
        self.end(id, ending.with_retry_after(until.since(self.base.cx.now)));
    }

    /// Handles the gates whose time is up.
    pub(crate) fn gates_due(&mut self) {
        let trust = self.base.cx.policy.trust_hints;
        let (all, tools) = (&self.all, &self.tools);
        let oldest = |key: &GateKey| {
            let is_risky = |it: &Exchange| !tools.is_safe(&it.call, it.rule, trust);
            canary_at(all, key, is_risky)
        };
        let due = self.base.admission.due_gates(self.base.cx.now, oldest);
        for canary in due.canaries {
            self.base.cx.then(CallEffect::LetOutIf(canary, Awaited::Gate));
        }
        gates_opened(&mut self.base, due.opened);
        if due.asks {
            self.base.cx.then(CallEffect::AskAtGate);
        }
        self.base.cx.then(CallEffect::SetGateAlarm);
    }

    /// Asks the server, for all calls that wait, whether it serves again: one that asked for a long time may
    /// serve sooner.
    pub(super) fn ask_at_gate(&mut self) {
        let is_asked = |exchange: &Exchange| exchange.origin.question() == Some(Purpose::Gate);
        if self.base.session.ready().is_some() && self.all.ids_where(is_asked).is_empty() {
            let method = self.base.session.era().probe_method();
            self.ask(OwnRequest::new(Purpose::Gate, method, QUESTION_LIMIT));
        }
    }

    /// Opens the gate of the whole server if it answered the link's own question by a result.
    pub(super) fn gate_told(&mut self, word: &OwnOutcome) {
        let serves = matches!(word, OwnOutcome::Answered(reply) if reply.is_result());
        if serves {
            self.base.cx.then(CallEffect::ServerAnswered(None));
        }
        if serves && self.base.admission.served() {
            gates_opened(&mut self.base, vec![None]);
        }
    }

    /// Opens the gates whose canary had an outcome other than row 2.
    pub(super) fn canary_returned(&mut self, id: ExchangeId) {
        let opened = self.base.admission.canary_returned(self.base.cx.now, id);
        gates_opened(&mut self.base, opened);
    }

    /// Lets out the calls that waited at a gate.
    pub(super) fn gate_opened(&mut self, key: GateKey) {
        let waiters = self.waiters_at(&key);
        self.base.cx.tell(Event::GateOpened { call: key });
        for waiter in waiters {
            self.base.cx.then(CallEffect::LetOutIf(waiter, Awaited::Gate));
        }
        self.base.cx.then(CallEffect::SetGateAlarm);
    }

    fn waiters_at(&self, key: &GateKey) -> Vec<ExchangeId> {
        self.all.ids_where(|exchange| waits_at(exchange, key))
    }

    pub(super) fn set_gate_alarm(&mut self) {
        let due = self.base.admission.next_gate(|key| self.all.iter().any(|it| waits_at(it, key)));
        self.base.cx.timers.set(Timer::Gates, due);
    }
}

fn waits_at(exchange: &Exchange, key: &GateKey) -> bool {
    exchange.awaits(Awaited::Gate) && key.as_ref().is_none_or(|call| *call == exchange.call)
}

/// Returns the call that goes out first: the one that has waited longest at a limit, and behind a 503 the
/// first that does no harm twice.
fn canary_at(
    all: &Exchanges,
    key: &GateKey,
    is_risky: impl Fn(&Exchange) -> bool,
) -> Option<ExchangeId> {
    let waiting = all.iter().filter(|it| waits_at(it, key));
    waiting.min_by_key(|it| key.is_none() && is_risky(it)).map(|it| it.id)
}

fn gates_opened(base: &mut Base, opened: Vec<GateKey>) {
    for key in opened {
        base.cx.then(CallEffect::GateOpened(key));
    }
}
