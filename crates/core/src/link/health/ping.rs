//! The ping: one harmless question that finds out whether the server is there.
//!
//! Two things need it: a call that has been silent for 30 s (row 19), and an open breaker whose time is up.
//! They share one ping, because one answer serves both. This module never touches a call of the application.

use std::time::Duration;

use crate::link::effects::{Liveness, PingResult};
use crate::moment::Moment;

/// The ping of a link, and what waits for it.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    state: PingState,
    pub(crate) askers: Askers,
    /// Whether the breaker's probe is in its second try, after the cause of the first failure was put right.
    pub(crate) is_second_probe: bool,
    /// Whether the breaker's probe was refused for its credentials, and better ones are on their way.
    pub(crate) probe_awaits_credentials: bool,
    /// How many connects for a ping failed in a row.
    refused: u32,
    /// How many pings in a row were accepted and not answered.
    unanswered: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PingState {
    #[default]
    Idle,
    Out,
    /// The last ping failed; the next one follows at `until`.
    Resting {
        until: Moment,
    },
}

/// What waits for the answer to a ping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Askers {
    pub(crate) breaker: bool,
    pub(crate) silence: bool,
}

impl Pulse {
    pub(crate) const fn state(&self) -> PingState {
        self.state
    }

    pub(crate) fn is_out(&self) -> bool {
        self.state == PingState::Out
    }

    pub(crate) const fn sent(&mut self) {
        self.state = PingState::Out;
    }

    /// Ends the pause before the next ping.
    pub(crate) const fn rest_over(&mut self) {
        if matches!(self.state, PingState::Resting { .. }) {
            self.state = PingState::Idle;
        }
    }

    /// Counts what a ping brought, and returns what follows from it.
    pub(crate) fn learn(&mut self, now: Moment, sign: PingResult, for_silence: bool) -> Liveness {
        self.state = PingState::Idle;
        match sign {
            // Only pings that were sent because of a silence say how long it has lasted.
            PingResult::NotSent | PingResult::Unanswered if !for_silence => {}
            PingResult::Http | PingResult::Lost | PingResult::Reply => {
                (self.refused, self.unanswered) = (0, 0);
                return Liveness::Alive;
            }
            PingResult::NotSent => self.refused += 1,
            PingResult::Unanswered => self.unanswered += 1,
        }
        if self.refused >= DEAD_AFTER_REFUSED || self.unanswered >= DEAD_AFTER_UNANSWERED {
            let is_unreachable = self.refused >= DEAD_AFTER_REFUSED;
            (self.refused, self.unanswered) = (0, 0);
            return Liveness::Dead { is_unreachable };
        }
        let pause = if sign == PingResult::NotSent { REFUSED_PAUSE } else { INTERVAL - LIMIT };
        Liveness::Unsure { again: now + pause }
    }

    /// Notes a sign of life from the server. Silence before it no longer counts.
    pub(crate) const fn heard(&mut self) {
        (self.refused, self.unanswered) = (0, 0);
    }

    /// Row 19: pauses until the next ping.
    pub(crate) const fn rest(&mut self, until: Moment) {
        self.state = PingState::Resting { until };
    }
}

/// How long a ping may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
/// The silence after which a call asks for a ping, and the gap between two pings.
pub(crate) const INTERVAL: Duration = Duration::from_secs(30);
/// The silence after which a stream that can be resumed is resumed beside the open one.
pub(crate) const RESUME_BESIDE: Duration = Duration::from_secs(120);
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
const DEAD_AFTER_REFUSED: u32 = 2;
const DEAD_AFTER_UNANSWERED: u32 = 4;
