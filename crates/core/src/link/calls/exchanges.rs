//! The exchanges that have not ended, by their ids and by those of their requests on the wire.

use std::collections::BTreeMap;

use crate::exchange::{Awaited, Exchange, Live, Phase};
use crate::ids::{AttemptId, ExchangeId};

/// All exchanges that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    /// Each is boxed, because a map makes room for eleven values at once and most links have no exchange.
    exchanges: BTreeMap<ExchangeId, Box<Exchange>>,
    last_id: ExchangeId,
    /// The exchanges by the request ids that an answer on the wire may name.
    wires: BTreeMap<u64, ExchangeId>,
}

impl Exchanges {
    pub(super) fn add(&mut self, make: impl FnOnce(ExchangeId) -> Exchange) -> ExchangeId {
        self.last_id = self.last_id.next();
        self.exchanges.insert(self.last_id, Box::new(make(self.last_id)));
        self.last_id
    }

    /// Removes an exchange that has ended. No answer on the wire finds it any more.
    pub(super) fn remove(&mut self, id: ExchangeId) -> Option<Box<Exchange>> {
        let exchange = self.exchanges.remove(&id)?;
        if let Some(sent) = &exchange.sent {
            self.forget_wire(sent.wire_id);
        }
        Some(exchange)
    }

    pub(crate) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        self.exchanges.get(&id).map(|exchange| &**exchange)
    }

    pub(crate) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.exchanges.get_mut(&id).map(|exchange| &mut **exchange)
    }

    /// Returns all exchanges, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.values().map(|exchange| &**exchange)
    }

    /// Returns the ids of the exchanges that satisfy `is_meant`, oldest first.
    pub(crate) fn ids_where(&self, is_meant: impl Fn(&Exchange) -> bool) -> Vec<ExchangeId> {
        self.iter().filter(|exchange| is_meant(exchange)).map(|exchange| exchange.id).collect()
    }

    /// Whether an exchange waits for this.
    pub(crate) fn await_any(&self, awaited: Awaited) -> bool {
        self.iter().any(|exchange| exchange.awaits(awaited))
    }

    /// Returns the exchange that sent the request with this id.
    pub(super) fn of_wire(&self, wire_id: u64) -> Option<ExchangeId> {
        self.wires.get(&wire_id).copied()
    }

    /// Notes that an exchange has sent the request with this id.
    pub(super) fn note_wire(&mut self, wire_id: u64, id: ExchangeId) {
        self.wires.insert(wire_id, id);
    }

    pub(super) fn forget_wire(&mut self, wire_id: u64) {
        self.wires.remove(&wire_id);
    }

    /// Returns the stream of an exchange that belongs to this attempt: the current one, or the one being
    /// replaced.
    pub(crate) fn stream_of(&mut self, id: ExchangeId, attempt: AttemptId) -> Option<&mut Live> {
        let mut live = self.get_mut(id)?.live_mut()?;
        if live.attempt != attempt {
            live = live.replaces.as_deref_mut()?;
        }
        (live.attempt == attempt).then_some(live)
    }

    /// Whether an attempt belongs to an exchange and has no head yet.
    pub(crate) fn is_headless(&mut self, id: ExchangeId, attempt: AttemptId) -> bool {
        self.stream_of(id, attempt).is_some_and(|live| matches!(live.phase, Phase::Asked))
    }
}
