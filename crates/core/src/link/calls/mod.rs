//! Calls: exchanges, from their first attempt to their single end.
//!
//! ```text
//!   letting_out   sending them, for the first time or again, or noting what they wait for
//!   steps         carrying out what they decide
//!   admitting     places in flight, and the gates of a busy server
//!   probation     unsafe calls to a server that was in trouble
//!   waiting       those that wait together for a connection, a session or credentials
//!   alarms        their timers
//!   answers       heads, bodies, ends and failures of their attempts
//!   streams       events of their streams
//!   messages      what the server sends beside answers
//!   rounds        a call for which a stateless server needs input
//!   learning      hints of tools, before they are needed
//!   refused_form  a call that was refused for its form, in another form
//!   subscribing   requests of the legacy era that a stateless server does not know
//!   doubts        answers that speak of a lost session
//!   token_doubts  answers that ask for better credentials without a challenge
//!   era_doubts    answers that only a server of the other era gives
//!   silence       calls that have heard nothing for long
//!   own           what the link asks for itself
//!   ending        the one place where an exchange ends
//!   effects       what other parts ask of the calls
//! ```

mod admitting;
mod alarms;
mod answers;
mod doubts;
mod effects;
mod ending;
mod era_doubts;
mod learning;
mod letting_out;
mod messages;
mod own;
mod probation;
mod refused_form;
mod rounds;
mod silence;
mod steps;
mod streams;
mod subscribing;
mod token_doubts;
mod waiting;

use std::collections::BTreeMap;

use crate::exchange::{Exchange, Live, Phase};
use crate::ids::{AttemptId, ExchangeId, QuestionId};
use crate::output::{Address, Lane, Verb};
use crate::replay::KnownTools;

use super::attempts::{NewRequest, Owner};
use super::context::Context;
use super::routing_headers::headers_of;
use learning::Learning;
use refused_form::Relisting;

/// All exchanges that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Each is boxed, because a map makes room for eleven values at once and most links have no exchange.
    exchanges: BTreeMap<ExchangeId, Box<Exchange>>,
    last_id: ExchangeId,
    /// The exchanges by the request ids that an answer on the wire may name.
    wires: BTreeMap<u64, ExchangeId>,
    /// The questions of stateless servers, by the call that they belong to.
    round_questions: BTreeMap<QuestionId, ExchangeId>,
    /// What the server's list says about its tools.
    tools: KnownTools,
    /// The list of tools that the link reads for itself, while it does.
    relisting: Option<Relisting>,
    learning: Learning,
}

impl Calls {
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

    /// Returns the exchange that sent the request with this id.
    pub(crate) fn of_wire(&self, wire_id: u64) -> Option<ExchangeId> {
        self.wires.get(&wire_id).copied()
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
