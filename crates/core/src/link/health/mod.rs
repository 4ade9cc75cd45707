//! Health: is the server there, does the session live, which era does it belong to.
//!
//! ```text
//!   ping         one harmless question, and who waits for its answer
//!   liveness     what its answer means to silent calls and to the breaker
//!   doubts       answers that speak of a lost session
//!   era_doubts   answers that only a server of the other era gives
//! ```

mod doubts;
mod era_doubts;
mod liveness;
mod ping;

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

    /// The server spoke, to whomever: no silence before this counts.
    pub(crate) const fn heard(&mut self) {
        self.pulse.heard();
    }

    /// A call was answered.
    pub(crate) fn call_answered(&mut self) {
        self.breaker.answered();
    }

    /// Whether new calls go out.
    pub(crate) const fn breaker(&self) -> breaker::BreakerState {
        self.breaker.state()
    }

    /// How long new calls are refused, if they are.
    pub(crate) fn refuses_for(&self, now: Moment) -> Option<Duration> {
        match self.breaker.state() {
            breaker::BreakerState::Closed => None,
            breaker::BreakerState::Open { until } => Some(until.since(now)),
            breaker::BreakerState::Probing => Some(ping::LIMIT),
        }
    }

    /// Whether the breaker waits for word from the server.
    pub(crate) const fn is_probing(&self) -> bool {
        self.pulse.askers.breaker
    }

    /// When a call that has last heard something at that moment asks whether the server is there; never while
    /// somebody asks.
    pub(crate) fn next_look(&self, last_sign: Moment) -> Option<Moment> {
        (!self.pulse.askers.silence).then(|| last_sign.max(self.alive_at) + ping::INTERVAL)
    }
}
