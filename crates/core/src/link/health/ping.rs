//! One harmless question, asked when somebody must know whether the server is there.
//!
//! Two things ask it: a call that has been silent for 30 s (row 19), and an open breaker whose time is
//! up. They share one ping, because one answer tells both what each wants to know. Nothing here touches a
//! call of the application.

use std::time::Duration;

use crate::moment::Moment;

/// The ping of a link and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    state: PingState,
    pub(crate) askers: Askers,
    /// What the breaker's probe found was put right, and it asks for the second time.
    pub(crate) is_second_probe: bool,
    /// The breaker's probe was refused, and better credentials are on their way.
    pub(crate) probe_awaits_credentials: bool,
    /// Connects for a ping that failed, in a row.
    refused: u32,
    /// Pings in a row that were accepted and not answered.
    unanswered: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PingState {
    #[default]
    Idle,
    Out,
    /// The last one failed; the next follows then.
    Resting {
        until: Moment,
    },
}

/// Who waits for the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Askers {
    pub(crate) breaker: bool,
    pub(crate) silence: bool,
}

/// What a ping brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PingResult {
    /// An HTTP answer that is no JSON-RPC reply: alive, and nothing more is known.
    Http,
    /// The session is gone: alive, too.
    Lost,
    /// No connection could be made.
    Refused,
    /// A JSON-RPC reply.
    Reply,
    /// Nothing, or a connection that broke.
    Unanswered,
}

/// What row 19 makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    Alive,
    /// Nobody can be reached, or nobody answers.
    Dead {
        is_unreachable: bool,
    },
    /// Ask again at that moment.
    Unsure {
        again: Moment,
    },
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

    /// The pause is over, or the question has no one left who asks it.
    pub(crate) const fn rest_over(&mut self) {
        if matches!(self.state, PingState::Resting { .. }) {
            self.state = PingState::Idle;
        }
    }

    /// Books what a ping brought.
    pub(crate) fn learn(&mut self, now: Moment, sign: PingResult, for_silence: bool) -> Liveness {
        self.state = PingState::Idle;
        match sign {
            // Only pings that were sent because of a silence say how long it has lasted.
            PingResult::Refused | PingResult::Unanswered if !for_silence => {}
            PingResult::Http | PingResult::Lost | PingResult::Reply => {
                (self.refused, self.unanswered) = (0, 0);
                return Liveness::Alive;
            }
            PingResult::Refused => self.refused += 1,
            PingResult::Unanswered => self.unanswered += 1,
        }
        if self.refused >= DEAD_AFTER_REFUSED || self.unanswered >= DEAD_AFTER_UNANSWERED {
            let is_unreachable = self.refused >= DEAD_AFTER_REFUSED;
            (self.refused, self.unanswered) = (0, 0);
            return Liveness::Dead { is_unreachable };
        }
        let pause = if sign == PingResult::Refused { REFUSED_PAUSE } else { INTERVAL - LIMIT };
        Liveness::Unsure { again: now + pause }
    }

    /// The server spoke, to whomever: no silence before this counts.
    pub(crate) const fn heard(&mut self) {
        (self.refused, self.unanswered) = (0, 0);
    }

    /// Row 19 still wants to know: ask again at that moment.
    pub(crate) const fn rest(&mut self, until: Moment) {
        self.state = PingState::Resting { until };
    }
}

/// How long a ping may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
/// Silence after which a call asks, and the pace of asking.
pub(crate) const INTERVAL: Duration = Duration::from_secs(30);
/// Silence after which a call whose stream can be resumed is resumed beside it.
pub(crate) const RESUME_BESIDE: Duration = Duration::from_secs(120);
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
const DEAD_AFTER_REFUSED: u32 = 2;
const DEAD_AFTER_UNANSWERED: u32 = 4;
