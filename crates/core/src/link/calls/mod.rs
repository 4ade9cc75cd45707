//! Calls: exchanges, from their first attempt to their single end.
//!
//! They stand on the base, whose parts know nothing of them, and call it directly; what a part of the base wants of
//! them, it asks for.
//!
//! ```text
//!   exchanges     those that have not ended
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
mod exchanges;
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

use crate::ids::{AttemptId, ExchangeId, QuestionId};
use crate::moment::Moment;
use crate::output::{Address, Lane, Verb};
use crate::replay::KnownTools;

use super::attempts::{NewRequest, Owner};
use super::base::Base;
use super::routing_headers::headers_of;
use exchanges::Exchanges;
use learning::Learning;
use refused_form::Relisting;

/// All calls, and the base that they stand on.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(super) base: Base,
    pub(super) all: Exchanges,
    /// The questions of stateless servers, by the call that they belong to.
    round_questions: BTreeMap<QuestionId, ExchangeId>,
    /// What the server's list says about its tools.
    tools: KnownTools,
    /// The list of tools that the link reads for itself, while it does.
    relisting: Option<Relisting>,
    learning: Learning,
}

impl Calls {
    pub(super) fn new(base: Base) -> Self {
        Self {
            base,
            all: Exchanges::default(),
            round_questions: BTreeMap::new(),
            tools: KnownTools::default(),
            relisting: None,
            learning: Learning::default(),
        }
    }

    /// Sets the moment for all that follows from a command or news.
    pub(super) const fn at(&mut self, now: Moment) {
        self.base.cx.now = now;
    }

    /// Makes a request for an exchange, with its own headers.
    fn request(&mut self, id: ExchangeId, verb: Verb, to: Address) -> AttemptId {
        let owner = Owner::Exchange(id);
        let cx = &mut self.base.cx;
        let Some(exchange) = self.all.get(id) else {
            return cx.send(NewRequest::new(owner, verb, to));
        };
        let mirrors = exchange.call.tool.as_ref().and_then(|tool| self.tools.mirrors(tool));
        let lane = match verb {
            _ if !exchange.origin.is_application() => Lane::Control,
            Verb::Get { .. } => Lane::Resume,
            Verb::Delete | Verb::Post { .. } => Lane::Call,
        };
        let (headers, route) = (headers_of(exchange, mirrors), exchange.route);
        cx.send(NewRequest { owner, verb, to, headers, lane, route })
    }
}
