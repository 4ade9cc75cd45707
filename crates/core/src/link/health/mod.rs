//! Health: whether the server is there, and whether its sessions can be believed to be alive.
//!
//! ```text
//!   ping       one harmless question, and what waits for its answer
//!   liveness   what its answer means to silent calls and to the breaker
//!   doubts     what is known about sessions that answers called lost
//! ```

mod doubts;
mod liveness;
mod ping;

pub(crate) use ping::{INTERVAL, RESUME_BESIDE};

use std::time::Duration;

use crate::breaker::{self, Breaker};
use crate::moment::Moment;

use doubts::Doubts;
use ping::Pulse;

/// What is believed about the server beyond a single call.
#[derive(Debug)]
pub(crate) struct Health {
    pulse: Pulse,
    breaker: Breaker,
    doubts: Doubts,
    /// When a ping last proved the server alive.
    alive_at: Moment,
}

impl Health {
    pub(crate) fn new(now: Moment) -> Self {
        Self {
            pulse: Pulse::default(),
            breaker: Breaker::new(),
            doubts: Doubts::default(),
            alive_at: now,
        }
    }

    /// Notes a sign of life from the server. Silence before it no longer counts.
    pub(crate) const fn heard(&mut self) {
        self.pulse.heard();
    }

    /// Notes an answered call.
    pub(crate) fn call_answered(&mut self) {
        self.breaker.answered();
    }

    /// Returns the state of the breaker, which decides whether new calls go out.
    pub(crate) const fn breaker(&self) -> breaker::BreakerState {
        self.breaker.state()
    }

    /// Returns how long new calls are refused, if they are.
    pub(crate) fn refuses_for(&self, now: Moment) -> Option<Duration> {
        match self.breaker.state() {
            breaker::BreakerState::Closed => None,
            breaker::BreakerState::Open { until } => Some(until.since(now)),
            breaker::BreakerState::Probing => Some(ping::LIMIT),
        }
    }

    /// Whether the breaker waits for the server to answer.
    pub(crate) const fn is_probing(&self) -> bool {
        self.pulse.askers.breaker
    }

    /// Returns when a call that last heard something at `last_sign` asks whether the server is there. `None`
    /// while a ping for a silent call is out.
    pub(crate) fn next_look(&self, last_sign: Moment) -> Option<Moment> {
        (!self.pulse.askers.silence).then(|| last_sign.max(self.alive_at) + INTERVAL)
    }
}
