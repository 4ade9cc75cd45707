//! Admission: which calls may go out now.
//!
//! ```text
//!   places   so many calls at once
//!   gates    none while a busy server wants to be left alone
//!   pace     and not more in a second than it was seen to take
//!   flow     what the rest of the link does about it
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

/// What limits the calls of a link.
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

    /// How many calls the connection can carry at once.
    pub(crate) const fn capacity(&self) -> usize {
        self.places.capacity()
    }

    /// Calls that hold a place in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.places.taken()
    }

    /// A call begins: it pays for repeats, of whichever call.
    pub(crate) fn deposit(&mut self) {
        self.budget.deposit();
    }

    /// Takes a repeat from the budget: when it may go out, if that is not later than `latest`.
    pub(crate) fn pay(&mut self, now: Moment, latest: Moment) -> Option<Moment> {
        self.budget.reserve(now, latest).ok()
    }

    /// Takes one of so many places in flight, or says that there is none.
    pub(crate) fn take_place(&mut self, id: ExchangeId, most: usize) -> bool {
        self.places.take(id, most)
    }

    pub(crate) fn stand_in_line(&mut self, id: ExchangeId) {
        self.places.stand_in_line(id);
    }

    pub(crate) fn leave_line(&mut self, id: ExchangeId) {
        self.places.leave_line(id);
    }

    /// Lets a call pass the gates, or says until when it must wait at least.
    pub(crate) fn pass_gates(
        &mut self,
        now: Moment,
        call: &CallName,
        id: ExchangeId,
    ) -> Result<(), (Moment, StatusCode)> {
        self.gates.admit(now, call, id)
    }

    /// Until when a gate holds calls of this name, and what closed it.
    pub(crate) fn held(&self, call: &CallName) -> Option<(Moment, StatusCode)> {
        self.gates.held(call)
    }
}
