//! Admission: which calls may go out now.
//!
//! ```text
//!   places   how many calls are out at once
//!   gates    no new calls while a busy server asks for time
//!   pace     no more calls in a period than the server was seen to take
//!   waiting  what the link does with calls that are held or let out
//! ```

mod gates;
mod pace;
mod places;
mod waiting;

use http::StatusCode;

use crate::budget::Budget;
use crate::ids::ExchangeId;
use crate::moment::Moment;
use crate::outcome::CallName;

use gates::Gates;
use places::Places;

/// The limits on the calls of a link: places in flight, gates and the retry budget.
#[derive(Debug)]
pub(crate) struct Admission {
    places: Places,
    gates: Gates,
    budget: Budget,
}

impl Admission {
    pub(crate) fn new(now: Moment) -> Self {
        Self { places: Places::new(), gates: Gates::default(), budget: Budget::new(now) }
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

    /// Returns until when a gate holds calls of this name, and the status that closed it.
    pub(crate) fn held(&self, call: &CallName) -> Option<(Moment, StatusCode)> {
        self.gates.held(call)
    }
}
