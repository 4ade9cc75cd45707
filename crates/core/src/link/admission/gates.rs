//! Gates: when the server asks for time, new calls of that kind wait together.
//!
//! ```text
//!   Closed ──time is up──▶ Canary ──any outcome but row 2, or 1 s──▶ open: gone (503), or Paced (429)
//!     ▲  │                    │                                            │
//!     │  └──(503) the link's own question is answered──▶ gone              │ row 2 again
//!     └───────────────── row 2 again ◀─────────────────────────────────────┘
//! ```
//! A 429 or 425 closes the gate of one method and tool, a 503 that of the whole server. The oldest
//! waiter is the canary: one call finds out for all. After a limit, calls go out at the pace that the
//! server was seen to take. Only new POSTs of the application are held.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use super::pace::Pace;
use crate::answer::status;
use crate::ids::ExchangeId;
use crate::moment::Moment;
use crate::outcome::CallName;

/// All gates that are not open.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    gates: BTreeMap<GateKey, Gate>,
}

/// The calls that a gate holds: those of this name, or all.
pub(crate) type GateKey = Option<CallName>;

#[derive(Debug)]
struct Gate {
    state: GateState,
    /// The status that closed the gate.
    status: StatusCode,
    /// How many calls the server takes, if it limits them.
    pace: Option<Pace>,
    /// When the link itself asks next whether the server serves again, and the gap to the question after
    /// that.
    question: Option<(Moment, Duration)>,
}

#[derive(Clone, Copy, Debug)]
enum GateState {
    /// One call is out to find out whether the server serves. At `until` the gate opens whatever happened.
    Canary {
        id: ExchangeId,
        until: Moment,
    },
    Closed {
        until: Moment,
    },
    /// Open for as many calls as the pace allows.
    Paced,
}

/// What has to be done about gates whose time is up.
#[derive(Debug, Default)]
pub(crate) struct DueGates {
    /// The calls that go out first, as canaries.
    pub(crate) canaries: Vec<ExchangeId>,
    /// The gates that are open, as far as their pace allows.
    pub(crate) opened: Vec<GateKey>,
    /// Whether the link asks if the server serves again.
    pub(crate) asks: bool,
}

impl Gates {
    /// Row 2: holds new calls for `wait`.
    pub(crate) fn close(&mut self, now: Moment, key: GateKey, status: StatusCode, wait: Duration) {
        let (until, is_limit) = (now + wait, key.is_some());
        let question = (!is_limit).then_some((now + FIRST_QUESTION, FIRST_QUESTION));
        let state = GateState::Closed { until };
        let gate = self.gates.entry(key).or_insert(Gate { state, status, pace: None, question });
        gate.state = match gate.state {
            GateState::Closed { until: before } => GateState::Closed { until: before.max(until) },
            GateState::Canary { .. } | GateState::Paced => GateState::Closed { until },
        };
        if let Some((at, _)) = &mut gate.question {
            // The latest time that the server asked for counts.
            *at = (*at).max(now + FIRST_QUESTION);
        }
        if is_limit {
            gate.pace.get_or_insert_with(|| Pace::new(wait)).refused(now, wait);
        }
    }

    /// Lets a call pass, or returns the earliest moment at which it may and the status that closed the gate.
    pub(crate) fn admit(
        &mut self,
        now: Moment,
        call: &CallName,
        exchange: ExchangeId,
    ) -> Result<(), (Moment, StatusCode)> {
        if self.gates.is_empty() {
            return Ok(());
        }
        let server = self.gates.get(&None).and_then(|gate| gate.holds(exchange));
        // A search costs no clone of the name, and gates are few and rarely there.
        let lane = self.gates.iter_mut().find(|(key, _)| key.as_ref() == Some(call));
        let lane = lane.map(|(_, gate)| gate);
        let held = lane.as_ref().and_then(|gate| gate.holds(exchange));
        if let Some(held) = server.max(held) {
            return Err(held);
        }
        let Some(gate) = lane else { return Ok(()) };
        match (&mut gate.pace, gate.state) {
            (Some(pace), GateState::Paced) => pace.take(now).map_err(|next| (next, gate.status)),
            _ => Ok(()),
        }
    }

    /// Returns until when a gate holds calls of this name, and the status that closed it.
    pub(crate) fn held(&self, call: &CallName) -> Option<(Moment, StatusCode)> {
        let is_meant = |key: &GateKey| key.as_ref().is_none_or(|name| name == call);
        let gates = self.gates.iter().filter(|(key, _)| is_meant(key)).map(|(_, gate)| gate);
        gates.map(|gate| (gate.due(), gate.status)).max_by_key(|(until, _)| *until)
    }

    /// Returns until when a gate is closed.
    pub(crate) fn until(&self, key: &GateKey) -> Option<Moment> {
        self.gates.get(key).map(Gate::due)
    }

    /// Returns when the next gate needs attention; `is_awaited` says whether a call waits at it.
    pub(crate) fn next_due(&self, is_awaited: impl Fn(&GateKey) -> bool) -> Option<Moment> {
        let due = |(key, gate): (&GateKey, &Gate)| match gate.state {
            GateState::Paced if !is_awaited(key) => None,
            GateState::Closed { until } => {
                Some(gate.question.map_or(until, |(question, _)| question.min(until)))
            }
            _ => Some(gate.due()),
        };
        self.gates.iter().filter_map(due).min()
    }

    /// Takes the gates whose time is up. `oldest` names the waiter that becomes the canary; a gate without
    /// waiters opens, and so does one whose canary was out for a second.
    pub(crate) fn due(
        &mut self,
        now: Moment,
        oldest: impl Fn(&GateKey) -> Option<ExchangeId>,
    ) -> DueGates {
        let mut due = DueGates::default();
        for (key, gate) in &mut self.gates {
            if let (GateState::Closed { until }, Some((at, gap))) = (gate.state, gate.question)
                && at <= now
                && now < until
            {
                due.asks = true;
                gate.question = Some((now + gap * 2, gap * 2));
            }
            if gate.due() > now {
                continue;
            }
            match (gate.state, oldest(key)) {
                (GateState::Closed { .. }, Some(id)) => {
                    gate.state = GateState::Canary { id, until: now + CANARY_LIMIT };
                    due.canaries.push(id);
                }
                _ => due.opened.push(key.clone()),
            }
        }
        due.opened.iter().for_each(|key| self.open(now, key));
        due
    }

    /// Notes that the canary had an outcome other than row 2, and returns the gates that this opens.
    pub(crate) fn canary_returned(&mut self, now: Moment, exchange: ExchangeId) -> Vec<GateKey> {
        if self.gates.is_empty() {
            return Vec::new();
        }
        let is_its =
            |gate: &Gate| matches!(gate.state, GateState::Canary { id, .. } if id == exchange);
        let its = self.gates.iter().filter(|(_, gate)| is_its(gate));
        let opened: Vec<GateKey> = its.map(|(key, _)| key.clone()).collect();
        opened.iter().for_each(|key| self.open(now, key));
        opened
    }

    /// Opens the gate of the whole server before its time is up, and returns whether it was closed.
    pub(crate) fn served(&mut self) -> bool {
        self.gates.remove(&None).is_some()
    }

    /// Opens a gate: fully, or as far as its pace allows.
    fn open(&mut self, now: Moment, key: &GateKey) {
        let Some(gate) = self.gates.get_mut(key) else { return };
        match &mut gate.pace {
            Some(pace) if !pace.is_forgotten(now) => {
                pace.begin(now);
                gate.state = GateState::Paced;
            }
            _ => _ = self.gates.remove(key),
        }
    }
}

impl Gate {
    /// Returns the moment at which this gate needs attention.
    fn due(&self) -> Moment {
        match (self.state, &self.pace) {
            (GateState::Canary { until, .. } | GateState::Closed { until }, _) => until,
            (GateState::Paced, Some(pace)) => pace.next(),
            (GateState::Paced, None) => Moment::START,
        }
    }

    /// Returns until when this gate holds the call, if it is closed for it.
    fn holds(&self, exchange: ExchangeId) -> Option<(Moment, StatusCode)> {
        match self.state {
            GateState::Canary { id, .. } if id == exchange => None,
            GateState::Canary { until, .. } | GateState::Closed { until } => {
                Some((until, self.status))
            }
            GateState::Paced => None,
        }
    }
}

/// Returns the gate that a deferral closes. A 502, 504 or 408 that the operator declared harmless closes none.
pub(crate) fn gate_of(status: StatusCode, call: &CallName) -> Option<GateKey> {
    if status::is_limit(status) {
        return Some(Some(call.clone()));
    }
    status::is_unavailable(status).then_some(None)
}

const CANARY_LIMIT: Duration = Duration::from_secs(1);
/// How long after a gate closes the link asks for the first time whether the server serves again.
const FIRST_QUESTION: Duration = Duration::from_secs(60);
