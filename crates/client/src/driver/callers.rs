//! The callers that wait for exchanges.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ridethrough_core::{ExchangeId, Outcome};
use ridethrough_wire::message::Json;
use tokio::sync::oneshot;

use super::Reporter;
use crate::source::Source;

/// The number of a call, given by the client before the link gives its exchange an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallNumber(pub(crate) u64);

/// A caller that waits for an outcome.
pub(crate) struct Caller {
    pub(crate) number: CallNumber,
    pub(crate) reply: oneshot::Sender<Ended>,
    pub(crate) progress: Option<Reporter>,
    /// Where the caller learns the id of its exchange.
    pub(crate) track: Option<Track>,
}

/// The exchange of a call, by which [`Delivered`](crate::event::Delivered) and [`Event`](crate::event::Event)
/// name the call. Created by [`Call::tracked`](crate::Call::tracked).
#[derive(Clone, Debug, Default)]
pub struct Track(Arc<OnceLock<ExchangeId>>);

impl Track {
    /// Returns the exchange; `None` until the call has begun. Messages of the server about the call come
    /// later.
    pub fn exchange(&self) -> Option<ExchangeId> {
        self.0.get().copied()
    }

    fn begun(&self, exchange: ExchangeId) {
        // A call begins once.
        let _ = self.0.set(exchange);
    }
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// The source of its result.
    pub(crate) source: Source,
}

impl From<Outcome> for Ended {
    /// Returns the end of a call that the server has just answered.
    fn from(outcome: Outcome) -> Self {
        Self { outcome, source: Source::Server }
    }
}

/// All callers that wait.
#[derive(Default)]
pub(super) struct Callers {
    waiting: BTreeMap<ExchangeId, Caller>,
    numbers: BTreeMap<CallNumber, ExchangeId>,
}

impl Callers {
    pub(super) fn insert(&mut self, exchange: ExchangeId, caller: Caller) {
        self.numbers.insert(caller.number, exchange);
        if let Some(track) = &caller.track {
            track.begun(exchange);
        }
        self.waiting.insert(exchange, caller);
    }

    /// Returns the exchange of a call that has not ended.
    pub(super) fn exchange(&self, call: CallNumber) -> Option<ExchangeId> {
        self.numbers.get(&call).copied()
    }

    pub(super) fn finish(&mut self, exchange: ExchangeId, ended: Ended) {
        let Some(caller) = self.waiting.remove(&exchange) else { return };
        self.numbers.remove(&caller.number);
        // A caller that is gone has cancelled, and needs no outcome.
        let _ = caller.reply.send(ended);
    }

    pub(super) fn progressed(&self, exchange: ExchangeId, params: Option<&Json>) {
        if let Some(Caller { progress: Some(progress), .. }) = self.waiting.get(&exchange)
            && let Some(params) = params
        {
            progress.push(params.clone());
        }
    }
}
