//! Gates: when the server asks for time, new calls of that kind wait together.
//!
//! ```text
//!   closed until T ──T──▶ canary out ──any outcome but row 2, or 1 s──▶ open (gone)
//!        ▲                    │
//!        └──── row 2 again ───┘
//! ```
//! A 429 or 425 closes the gate of one method and tool, a 503 that of the whole server. The oldest
//! waiter is the canary: one call finds out for all. Only new POSTs of the application are held.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use crate::ids::ExchangeId;
use crate::moment::Moment;
use crate::outcome::CallName;

/// All gates that are not open.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    gates: BTreeMap<Key, Gate>,
}

/// Which calls a gate holds: those of this name, or all.
pub(crate) type Key = Option<CallName>;

#[derive(Clone, Copy, Debug)]
struct Gate {
    /// Closed until then; with a canary out, open at the latest then.
    until: Moment,
    /// What the server said.
    status: StatusCode,
    canary: Option<ExchangeId>,
}

impl Gates {
    /// Which gate a deferral closes; 502, 504 and 408, if the operator declared them harmless, none.
    pub(crate) fn key(status: StatusCode, call: &CallName) -> Option<Key> {
        match status.as_u16() {
            425 | 429 => Some(Some(call.clone())),
            503 => Some(None),
            _ => None,
        }
    }

    /// Row 2 happened: hold new calls until then.
    pub(crate) fn close(&mut self, key: Key, status: StatusCode, until: Moment) {
        let gate = self.gates.entry(key).or_insert(Gate { until, status, canary: None });
        // With a canary out, `until` was the canary's limit and not a promise to the server.
        gate.until = if gate.canary.take().is_some() { until } else { gate.until.max(until) };
    }

    /// Whether this call must wait, and until when at least.
    pub(crate) fn holds(
        &self,
        call: &CallName,
        exchange: ExchangeId,
    ) -> Option<(Moment, StatusCode)> {
        let held_by =
            |gate: &Gate| (gate.canary != Some(exchange)).then_some((gate.until, gate.status));
        let server = self.gates.get(&None).and_then(held_by);
        // Cloning the name to look it up is not worth it: gates are few and rarely there.
        let lane = self.gates.iter().find(|(key, _)| key.as_ref() == Some(call));
        server.max(lane.and_then(|(_, gate)| held_by(gate)))
    }

    /// Until when a gate holds.
    pub(crate) fn until(&self, key: &Key) -> Option<Moment> {
        self.gates.get(key).map(|gate| gate.until)
    }

    /// When the next gate needs attention.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.gates.values().map(|gate| gate.until).min()
    }

    /// Takes the gates whose time is up: `oldest` names the waiter that becomes the canary.
    /// A gate without waiters, or whose canary had its second, is open. Returns open gates.
    pub(crate) fn due(
        &mut self,
        now: Moment,
        oldest: impl Fn(&Key) -> Option<ExchangeId>,
    ) -> (Vec<ExchangeId>, Vec<Key>) {
        let (mut canaries, mut opened) = (Vec::new(), Vec::new());
        for (key, gate) in &mut self.gates {
            if gate.until > now {
                continue;
            }
            match (gate.canary, oldest(key)) {
                (None, Some(canary)) => {
                    gate.canary = Some(canary);
                    gate.until = now + CANARY_LIMIT;
                    canaries.push(canary);
                }
                _ => opened.push(key.clone()),
            }
        }
        opened.iter().for_each(|key| _ = self.gates.remove(key));
        (canaries, opened)
    }

    /// The canary had an outcome other than row 2. Returns the gates that this opens.
    pub(crate) fn canary_returned(&mut self, exchange: ExchangeId) -> Vec<Key> {
        let is_its = |gate: &Gate| gate.canary == Some(exchange);
        let opened: Vec<Key> = self
            .gates
            .iter()
            .filter(|(_, gate)| is_its(gate))
            .map(|(key, _)| key.clone())
            .collect();
        opened.iter().for_each(|key| _ = self.gates.remove(key));
        opened
    }
}

const CANARY_LIMIT: Duration = Duration::from_secs(1);
