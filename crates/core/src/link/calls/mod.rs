//! Calls: exchanges, from their first attempt to their single end.
//!
//! ```text
//!   steps     letting them out, and carrying out what they decide
//!   alarms    when they are looked at again
//!   answers   what they make of heads, bodies, events and failures
//!   rounds    a call that needs input
//!   mending   a call refused for its form
//!   own       what the link asks for itself
//!   ending    the one place where an exchange ends
//! ```

mod alarms;
mod answers;
mod ending;
mod mending;
mod own;
mod rounds;
mod steps;

pub(crate) use own::{OwnOutcome, OwnReply, OwnRequest};

use std::collections::BTreeMap;

use crate::exchange::{Exchange, Live, Phase};
use crate::ids::{AttemptId, ExchangeId, QuestionId};
use crate::message::Json;
use crate::output::{Address, Lane, Verb};
use crate::replay::{KnownTools, Learnt};

use super::attempts::{NewRequest, Owner};
use super::context::Context;
use super::routing_headers::headers_of;
use mending::Relisting;

/// Every exchange that has not ended.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Boxed: a map makes room for eleven at once, and most links have none.
    exchanges: BTreeMap<ExchangeId, Box<Exchange>>,
    last_id: ExchangeId,
    /// The request ids on the wire that an answer may name.
    wires: BTreeMap<u64, ExchangeId>,
    last_wire_id: u64,
    /// Questions of stateless servers, by the call that they were asked for.
    round_questions: BTreeMap<QuestionId, ExchangeId>,
    /// What is known of the tools that are called.
    tools: KnownTools,
    /// Tools that the link lists for itself.
    relisting: Option<Relisting>,
}

impl Calls {
    pub(crate) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        self.exchanges.get(&id).map(|exchange| &**exchange)
    }

    pub(crate) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.exchanges.get_mut(&id).map(|exchange| &mut **exchange)
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.values().map(|exchange| &**exchange)
    }

    /// The ids of those that are meant, oldest first.
    pub(crate) fn ids_where(&self, is_meant: impl Fn(&Exchange) -> bool) -> Vec<ExchangeId> {
        self.iter().filter(|exchange| is_meant(exchange)).map(|exchange| exchange.id).collect()
    }

    /// The exchange that sent the request with this id.
    pub(crate) fn of_wire(&self, wire_id: u64) -> Option<ExchangeId> {
        self.wires.get(&wire_id).copied()
    }

    pub(crate) const fn next_wire_id(&mut self) -> u64 {
        self.last_wire_id += 1;
        self.last_wire_id
    }

    /// Learns from a page of the server's tools; the first one replaces what was known.
    pub(crate) fn learn_tools(&mut self, page: &Json, is_first: bool) -> Learnt {
        self.tools.learn(page, is_first)
    }

    /// The list of tools has changed: none is known any more.
    pub(crate) fn forget_tools(&mut self) {
        self.tools.forget();
    }

    /// Makes a request for an exchange, with its own headers.
    fn request(&self, cx: &mut Context, id: ExchangeId, verb: Verb, to: Address) -> AttemptId {
        let owner = Owner::Exchange(id);
        let Some(exchange) = self.get(id) else { return cx.send(NewRequest::new(owner, verb, to)) };
        let mirrors = exchange.call.tool.as_ref().and_then(|tool| self.tools.mirrors(tool));
        let lane = match verb {
            _ if !exchange.origin.is_application() => Lane::Control,
            Verb::Get { .. } => Lane::Resume,
            Verb::Delete | Verb::Post { .. } => Lane::Call,
        };
        let (headers, route) = (headers_of(exchange, mirrors), exchange.route);
        cx.send(NewRequest { owner, verb, to, headers, lane, route })
    }

    /// The stream of an exchange that this attempt is: its own, or the one being replaced.
    pub(crate) fn stream_of(&mut self, id: ExchangeId, attempt: AttemptId) -> Option<&mut Live> {
        let mut live = self.get_mut(id)?.live_mut()?;
        if live.attempt != attempt {
            live = live.replaces.as_deref_mut()?;
        }
        (live.attempt == attempt).then_some(live)
    }

    /// Whether an attempt is that of an exchange, and has no head yet.
    pub(crate) fn is_headless(&mut self, id: ExchangeId, attempt: AttemptId) -> bool {
        self.stream_of(id, attempt).is_some_and(|live| matches!(live.phase, Phase::Asked))
    }
}
