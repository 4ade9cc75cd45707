//! Letting calls out within the places in flight, and holding them at the gates that a busy server closes.

use std::time::Duration;

use http::StatusCode;

use super::gates::{Gates, Key};
use crate::answer::PostReading;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, Purpose, State, Then, Waiting};
use crate::ids::ExchangeId;
use crate::link::Link;
use crate::link::calls::{OwnOutcome, OwnRequest};
use crate::link::timers::Timer;
use crate::message::Answer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};

/// How long the link waits for an answer when it asks whether a server that closed a gate serves again.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
/// The longest time that a gate stays closed. One absurd `Retry-After` must not shut a client out for ever:
/// later calls may ask once an hour.
const LONGEST_GATE: Duration = Duration::from_secs(3600);

impl Link {
    pub(crate) fn give_place_back(&mut self, now: Moment, id: ExchangeId) {
        if self.admission.places.give_back(id) {
            self.fill_places(now);
        }
    }

    /// Sets how many calls the connection can carry at once.
    pub(crate) fn capacity_changed(&mut self, now: Moment, calls: usize) {
        self.admission.places.set_capacity(calls);
        self.fill_places(now);
    }

    /// Lets out the calls that have waited longest for a place. A call that gives its place back meanwhile is
    /// served by the loop that is already running.
    pub(crate) fn fill_places(&mut self, now: Moment) {
        if !self.admission.places.begin_filling() {
            return;
        }
        while let Some(id) = self.admission.places.next_in_line(self.cx.policy.in_flight) {
            self.let_out_if(now, id, Then::Send, |waiting| *waiting == Waiting::Place);
        }
        self.admission.places.end_filling();
    }

    /// Row 2: lets a call wait for the time that the server asked for, and later calls of its kind with it.
    pub(crate) fn wait_as_asked(
        &mut self,
        now: Moment,
        id: ExchangeId,
        status: StatusCode,
        until: Moment,
    ) {
        let key = self.calls.get(id).and_then(|each| Gates::key(status, &each.call));
        match key.and_then(|key| self.admission.gates.until(&key)) {
            Some(gate) => self.wait_at_gate(now, id, gate.max(until), status),
            None => self.wait(now, id, Waiting::Until { at: until, then: Then::Send }),
        }
    }

    /// Row 2: closes the gate for calls of this kind, whatever becomes of the call that was deferred.
    pub(crate) fn close_gate(
        &mut self,
        now: Moment,
        id: ExchangeId,
        status: StatusCode,
        hint: Option<Duration>,
    ) {
        let Some(exchange) = self.calls.get(id) else { return };
        let Some(key) = Gates::key(status, &exchange.call) else { return };
        let resends = exchange.counters.resends;
        let backoff = self.cx.policy.backoff.width(resends);
        let wait = match hint.map(|hint| hint.min(LONGEST_GATE)) {
            Some(hint) if resends < self.cx.policy.resends => hint,
            Some(hint) => hint.max(backoff),
            None => backoff,
        };
        self.admission.gates.close(now, key.clone(), status, wait);
        self.cx.tell(Event::GateClosed { call: key.clone(), until: now + wait });
        for waiter in self.waiters_at(&key) {
            self.wait_at_gate(now, waiter, now + wait, status);
        }
        self.set_gate_alarm();
    }

    /// Lets a call wait at a gate, or ends it if its deadline comes before the gate can open.
    pub(crate) fn wait_at_gate(
        &mut self,
        now: Moment,
        id: ExchangeId,
        until: Moment,
        status: StatusCode,
    ) {
        let Some(exchange) = self.calls.get(id) else { return };
        if until < exchange.deadline.at {
            self.wait(now, id, Waiting::Gate);
            self.set_gate_alarm();
            // A call that waits at a gate is not in flight: another call may have its place.
            return self.give_place_back(now, id);
        }
        let reason =
            Reason::Rule("the wait for the server is longer than the time that the call has");
        let ending = Ending::new(Kind::rejected(status), reason);
        self.end(now, id, ending.with_retry_after(until.since(now)));
    }

    pub(crate) fn gates_due(&mut self, now: Moment) {
        let calls = &self.calls;
        let oldest = |key: &Key| {
            let waits = |state: &State| matches!(state, State::Waiting(Waiting::Gate));
            calls
                .iter()
                .find(|each| {
                    waits(&each.state) && key.as_ref().is_none_or(|call| *call == each.call)
                })
                .map(|each| each.id)
        };
        let due = self.admission.gates.due(now, oldest);
        for canary in due.canaries {
            self.let_out_if(now, canary, Then::Send, |waiting| *waiting == Waiting::Gate);
        }
        self.gates_opened(now, due.opened);
        if due.asks {
            self.ask_at_gate(now);
        }
        self.set_gate_alarm();
    }

    /// Asks the server, for all calls that wait, whether it serves again: one that asked for a long time may
    /// serve sooner.
    fn ask_at_gate(&mut self, now: Moment) {
        let is_asked = |exchange: &Exchange| exchange.origin.question() == Some(Purpose::Gate);
        if self.session.ready().is_some() && self.calls.ids_where(is_asked).is_empty() {
            let method = self.session.era().probe_method();
            self.ask(now, OwnRequest::new(Purpose::Gate, method, QUESTION_LIMIT));
        }
    }

    /// Opens the gate of the whole server if it answered the link's own question by a result.
    pub(crate) fn gate_told(&mut self, now: Moment, word: OwnOutcome) {
        let serves = matches!(&word, OwnOutcome::Answered(reply)
            if matches!(reply.reading, PostReading::Answer(Answer::Result(_))));
        if serves && self.admission.gates.served() {
            self.gates_opened(now, vec![None]);
        }
    }

    /// Opens the gates whose canary had an outcome other than row 2.
    pub(crate) fn canary_returned(&mut self, now: Moment, id: ExchangeId) {
        let opened = self.admission.gates.canary_returned(now, id);
        self.gates_opened(now, opened);
    }

    fn gates_opened(&mut self, now: Moment, opened: Vec<Key>) {
        for key in opened {
            self.cx.tell(Event::GateOpened { call: key.clone() });
            for waiter in self.waiters_at(&key) {
                self.let_out_if(now, waiter, Then::Send, |waiting| *waiting == Waiting::Gate);
            }
            self.set_gate_alarm();
        }
    }

    fn waiters_at(&self, key: &Key) -> Vec<ExchangeId> {
        self.calls.ids_where(|exchange| {
            matches!(exchange.state, State::Waiting(Waiting::Gate))
                && key.as_ref().is_none_or(|call| *call == exchange.call)
        })
    }

    fn set_gate_alarm(&mut self) {
        let is_awaited = |key: &Key| !self.waiters_at(key).is_empty();
        let due = self.admission.gates.next_due(is_awaited);
        self.cx.timers.set(Timer::Gates, due);
    }
}
