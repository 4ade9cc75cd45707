//! Admission: which calls may go out now.
//!
//! ```text
//!   places   how many calls are out at once
//!   gates    no new calls while a busy server asks for time
//!   pace     no more calls in a period than the server was seen to take
//!   probation  no unsafe calls to a server in trouble until it answers a harmless one
//! ```

mod gates;
mod pace;
mod places;
mod probation;

pub(crate) use gates::{DueGates, GateKey, gate_of};

use std::time::Duration;

use http::StatusCode;

use crate::budget::Budget;
use crate::ids::ExchangeId;
use crate::moment::Moment;
use crate::outcome::CallName;

use gates::Gates;
use places::Places;
use probation::Probation;

/// The limits on the calls of a link: places in flight, gates, the retry budget and probation.
#[derive(Debug)]
pub(crate) struct Admission {
    places: Places,
    gates: Gates,
    budget: Budget,
    pub(crate) probation: Probation,
}

impl Admission {
    pub(crate) fn new(now: Moment) -> Self {
        Self {
            places: Places::new(),
            gates: Gates::default(),
            budget: Budget::new(now),
            probation: Probation::default(),
        }
    }

    /// Returns how many calls the connection can carry at once.
    pub(crate) const fn capacity(&self) -> usize {
        self.places.capacity()
    }

    /// Returns how many calls hold a place in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.places.taken()
    }

    /// Adds to the budget what a new call contributes; any call may use it for a repeat.
    pub(crate) fn deposit(&mut self) {
        self.budget.deposit();
    }

    /// Takes a repeat from the budget. Returns when it may go out, if that is not later than `latest`.
    pub(crate) fn pay(&mut self, now: Moment, latest: Moment) -> Option<Moment> {
        self.budget.reserve(now, latest).ok()
    }

    /// Takes a place in flight, of `most` at the most. Returns whether there was one.
    pub(crate) fn take_place(&mut self, id: ExchangeId, most: usize) -> bool {
        self.places.take(id, most)
    }

    pub(crate) fn stand_in_line(&mut self, id: ExchangeId) {
        self.places.stand_in_line(id);
    }

    pub(crate) fn leave_line(&mut self, id: ExchangeId) {
        self.places.leave_line(id);
    }

    /// Lets a call pass the gates, or returns the earliest moment at which it may and the status that closed
    /// the gate.
    pub(crate) fn pass_gates(
        &mut self,
        now: Moment,
        call: &CallName,
        id: ExchangeId,
    ) -> Result<(), (Moment, StatusCode)> {
        self.gates.admit(now, call, id)
    }

    /// Gives a place back. Returns whether another call waits for it.
    pub(crate) fn give_place_back(&mut self, id: ExchangeId) -> bool {
        self.places.give_back(id) && self.places.has_line()
    }

    /// Sets how many calls the connection can carry at once.
    pub(crate) fn set_capacity(&mut self, calls: usize) {
        self.places.set_capacity(calls);
    }

    /// Begins to give out places, and returns false if that is under way already.
    pub(crate) const fn begin_filling(&mut self) -> bool {
        self.places.begin_filling()
    }

    /// Takes the call that has waited longest for a place out of the line, if there is room for it. If there
    /// is none, the filling has ended.
    pub(crate) fn fill_next(&mut self, most: usize) -> Option<ExchangeId> {
        let next = self.places.next_in_line(most);
        if next.is_none() {
            self.places.end_filling();
        }
        next
    }

    /// Row 2: holds new calls for `wait`.
    pub(crate) fn close_gate(
        &mut self,
        now: Moment,
        key: GateKey,
        status: StatusCode,
        wait: Duration,
    ) {
        self.gates.close(now, key, status, wait);
    }

    /// Returns until when a gate is closed.
    pub(crate) fn closed_until(&self, key: &GateKey) -> Option<Moment> {
        self.gates.until(key)
    }

    /// Takes the gates whose time is up; `oldest` names the call that waits longest at a gate.
    pub(crate) fn due_gates(
        &mut self,
        now: Moment,
        oldest: impl Fn(&GateKey) -> Option<ExchangeId>,
    ) -> DueGates {
        self.gates.due(now, oldest)
    }

    /// Returns when the next gate needs attention; `is_awaited` says whether a call waits at it.
    pub(crate) fn next_gate(&self, is_awaited: impl Fn(&GateKey) -> bool) -> Option<Moment> {
        self.gates.next_due(is_awaited)
    }

    /// Notes that the canary had an outcome other than row 2, and returns the gates that this opens.
    pub(crate) fn canary_returned(&mut self, now: Moment, id: ExchangeId) -> Vec<GateKey> {
        self.gates.canary_returned(now, id)
    }

    /// Opens the gate of the whole server before its time is up, and returns whether it was closed.
    pub(crate) fn served(&mut self) -> bool {
        self.gates.served()
    }

    /// Returns until when a gate holds calls of this name, and the status that closed it.
    pub(crate) fn held(&self, call: &CallName) -> Option<(Moment, StatusCode)> {
        self.gates.held(call)
    }
}
