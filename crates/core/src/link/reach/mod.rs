//! Reaching the server: one connect loop, however many calls wait.
//!
//! ```text
//!   dial    the connect loop: its state, and when to try again
//!   steer   what follows when the server is lost or found
//! ```

mod dial;
mod steer;

pub(crate) use steer::fail_unreachable;

use std::time::Duration;

use crate::breaker::Incident;
use crate::moment::Moment;
use crate::policy::RetryPolicy;

use dial::{Dial, DialState};

/// Whether the server can be reached.
#[derive(Debug)]
pub(crate) struct Reach {
    dial: Dial,
    /// Counts what the breaker takes for one failure, from a transport failure to the next response head.
    incidents: u64,
    in_incident: bool,
    keeps_connected: bool,
}

impl Reach {
    pub(crate) const fn new() -> Self {
        Self { dial: Dial::new(), incidents: 0, in_incident: false, keeps_connected: false }
    }

    /// Keeps the link connected from now on, even if no call waits.
    pub(crate) const fn keep_connected(&mut self) {
        self.keeps_connected = true;
    }

    pub(crate) const fn keeps_connected(&self) -> bool {
        self.keeps_connected
    }

    /// Whether calls may go out.
    pub(crate) const fn lets_calls_out(&self) -> bool {
        self.dial.lets_calls_out()
    }

    /// Whether a control message may go out: those do not wait for the ramp.
    pub(crate) const fn lets_control_out(&self) -> bool {
        self.dial.lets_control_out()
    }

    pub(crate) const fn connected_before(&self) -> bool {
        self.dial.connected_before()
    }

    /// Returns how long a call may wait for a connection or a session, in all.
    pub(crate) const fn patience(&self, policy: &RetryPolicy) -> Duration {
        if self.connected_before() { policy.patience } else { policy.first_patience }
    }

    /// Returns when the current outage began, if there is one.
    pub(crate) fn outage(&self) -> Option<Moment> {
        self.dial.outage()
    }

    /// Returns when the next connect is due, if there is a pause before it.
    pub(crate) const fn next_connect(&self) -> Option<Moment> {
        match self.dial.state() {
            DialState::Pausing { until } => Some(until),
            _ => None,
        }
    }

    /// Returns what a call that ends now for a transport reason counts as.
    pub(crate) const fn incident(&self) -> Incident {
        if self.in_incident { Incident::Outage(self.incidents) } else { Incident::Alone }
    }
}
