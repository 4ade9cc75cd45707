//! The connect loop: one per link, however many calls wait.
//!
//! ```text
//!   Up ──lost──▶ Pausing ──time is up──▶ Dialing ──failed──▶ Pausing
//!   ▲               ▲ │ answered            │ connected
//!   │           lost│ ▼                     │
//!   └──all released── Ramping ◀─────────────┘   (1, 2, 4, … calls each 50 ms)
//! ```
//! An outage lasts from the first request that could not be sent, or failed connect, to the next response head,
//! not to the next successful connect: a server that accepts connections and answers nothing is not back. The
//! first connect of an outage is immediate; then the gaps grow with its age. A lasting failure ends the loop.

use std::time::Duration;

use crate::backoff::{YOUNG, gap};
use crate::ids::AttemptId;
use crate::moment::Moment;
use crate::rng::Rng;

/// What is believed about reaching the server.
#[derive(Debug)]
pub(crate) struct Dial {
    state: DialState,
    connected_before: bool,
    outage: Option<Outage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialState {
    Dialing {
        attempt: AttemptId,
    },
    /// The next connect is due at `until`, if a call or notice waits for it.
    Pausing {
        until: Moment,
    },
    /// Connected. Waiting calls go out in growing groups, so that a server that has just come back does not
    /// get all of them at once.
    Ramping {
        next: Moment,
        group: usize,
    },
    /// Nothing is known against sending: the start, a link that works, or the time after a lasting failure.
    Up,
}

#[derive(Clone, Copy, Debug)]
struct Outage {
    since: Moment,
    /// The last attempt made before the server was lost. An answer to a later one ends the outage.
    last_attempt: AttemptId,
    /// When the last connect failed.
    tried: Moment,
    /// How many connects failed after the first seconds of the outage.
    late: u32,
}

impl Dial {
    pub(crate) const fn new() -> Self {
        Self { state: DialState::Up, connected_before: false, outage: None }
    }

    pub(crate) const fn state(&self) -> DialState {
        self.state
    }

    /// Whether calls may go out.
    pub(crate) const fn lets_calls_out(&self) -> bool {
        matches!(self.state, DialState::Up)
    }

    /// Whether a control message may go out: those do not wait for the ramp.
    pub(crate) const fn lets_control_out(&self) -> bool {
        matches!(self.state, DialState::Up | DialState::Ramping { .. })
    }

    pub(crate) const fn connected_before(&self) -> bool {
        self.connected_before
    }

    /// Begins or prolongs an outage: a request could not be sent, or its connection carried no response.
    pub(crate) fn lost(&mut self, now: Moment, last_attempt: AttemptId, rng: &mut Rng) {
        if !self.lets_control_out() {
            return;
        }
        let until = match &mut self.outage {
            None => {
                self.outage = Some(Outage { since: now, last_attempt, tried: now, late: 0 });
                now
            }
            Some(outage) => {
                (outage.last_attempt, outage.tried) = (last_attempt, now);
                now + self.next_gap(now, rng)
            }
        };
        self.state = DialState::Pausing { until };
    }

    /// Returns when the current outage began, if there is one.
    pub(crate) fn outage(&self) -> Option<Moment> {
        self.outage.map(|outage| outage.since)
    }

    /// Whether there is an outage.
    pub(crate) const fn is_in_outage(&self) -> bool {
        self.outage.is_some()
    }

    pub(crate) const fn dialing(&mut self, attempt: AttemptId) {
        self.state = DialState::Dialing { attempt };
    }

    /// Begins the ramp after a connect: the first waiting call may go out.
    pub(crate) const fn connected(&mut self, now: Moment) {
        self.connected_before = true;
        self.state = DialState::Ramping { next: now, group: 1 };
    }

    /// Notes a failed connect. Returns when the next one is due.
    pub(crate) fn failed(&mut self, now: Moment, rng: &mut Rng) -> Moment {
        let last_attempt = AttemptId::default();
        let outage = Outage { since: now, last_attempt, tried: now, late: 0 };
        self.outage.get_or_insert(outage).tried = now;
        let until = now + self.next_gap(now, rng);
        self.state = DialState::Pausing { until };
        until
    }

    /// Brings the next connect forward because a call is about to give up, but keeps `HURRIED` after the last
    /// one.
    pub(crate) fn hurry(&mut self, now: Moment) {
        if let (DialState::Pausing { until }, Some(outage)) = (&mut self.state, &self.outage) {
            *until = (*until).min(now.max(outage.tried + HURRIED));
        }
    }

    /// Ends the connect loop after a lasting failure. The next call may try again.
    pub(crate) const fn gave_up(&mut self) {
        self.state = DialState::Up;
    }

    /// Takes the next group of the ramp, if it is due.
    pub(crate) fn next_group(&mut self, now: Moment) -> Option<usize> {
        match self.state {
            DialState::Ramping { next, group } if next <= now => {
                self.state =
                    DialState::Ramping { next: now + STEP, group: group.saturating_mul(2) };
                Some(group)
            }
            _ => None,
        }
    }

    /// Ends the ramp: its last group goes out.
    pub(crate) const fn ramp_done(&mut self) {
        if matches!(self.state, DialState::Ramping { .. }) {
            self.state = DialState::Up;
        }
    }

    /// Notes a response head. Returns the length of the outage that it ended.
    pub(crate) fn answered(&mut self, now: Moment, attempt: AttemptId) -> Option<Duration> {
        self.connected_before = true;
        let outage = self.outage?;
        if let DialState::Pausing { .. } = self.state
            && attempt > outage.last_attempt
        {
            // This answers a request that was made after the loss, and not the connect loop.
            self.connected(now);
        }
        if !self.lets_control_out() {
            // A connection made before the loss says nothing about new ones.
            return None;
        }
        self.outage = None;
        Some(now.since(outage.since))
    }

    fn next_gap(&mut self, now: Moment, rng: &mut Rng) -> Duration {
        let Some(outage) = &mut self.outage else { return Duration::ZERO };
        let age = now.since(outage.since);
        let wait = gap(age, outage.late, rng);
        if age >= YOUNG {
            outage.late = outage.late.saturating_add(1);
        }
        wait
    }
}

const STEP: Duration = Duration::from_millis(50);
/// The shortest gap between connects, however many calls are about to give up.
const HURRIED: Duration = Duration::from_secs(1);
