//! Refusals that only a server of the other era gives: the server is asked which era it belongs to.
//!
//! ```text
//!   refusal ──server/discover──▶ as before: the refusal stands
//!                            ├──▶ changed ──▶ sent again, if it is proven that the call was not carried out
//!                            └──▶ no evidence: the refusal stands
//! ```
//! Proof is one of three: a status that means that nothing was carried out, a refusal of the request's form,
//! or a question refused by a status and code equal to the call's, which shows that the server refuses every
//! request of that era.

use ridethrough_wire::era::{Era, Version};
use ridethrough_wire::message::Answer;

use super::Calls;
use crate::answer::PostReading;
use crate::answer::discovery::{self, Verdict};
use crate::event::Remedy;
use crate::exchange::{
    EraDoubt, Exchange, HeldBack, Purpose, RefusedBy, Rules, Sent, State, Step, Then, Waiting,
};
use crate::failure::Delivery;
use crate::head::AnswerHead;
use crate::ids::{ExchangeId, Generation};
use crate::link::HANDSHAKE_LIMIT;
use crate::link::base::Base;
use crate::link::effects::{CallEffect, FoundEra, SessionEffect};
use crate::link::own_request::{OwnOutcome, OwnReply, OwnRequest};
use crate::outcome::Reason;
use crate::output::{Address, Route};

impl RefusedBy {
    pub(crate) fn new(head: &AnswerHead, reading: &PostReading) -> Self {
        let code = reading.answer().and_then(Answer::error).map(|error| error.code);
        Self { status: head.status, code }
    }
}

impl Calls {
    /// Holds a refusal back until the server was asked for its era.
    pub(crate) fn doubt_era(&mut self, id: ExchangeId, doubt: EraDoubt) {
        self.hiccup(id, Reason::Nothing, Remedy::CheckEra);
        let Some(exchange) = self.all.get_mut(id) else { return };
        exchange.counters.era_asked = true;
        let generation = exchange.sent.as_ref().map(Sent::generation);
        let connection = exchange.live().and_then(|live| live.connection);
        self.enter(id, State::Doubted(Box::new(HeldBack::Era(doubt))));
        if generation != self.base.session.current_generation() {
            // The server was asked meanwhile, and another session has taken the place of the call's.
            let (era, refused_by) = (Some(self.base.session.era()), self.base.session.refused_by());
            return self.resolve_era(id, FoundEra { era, refused_by });
        }
        let is_asked = |exchange: &Exchange| exchange.origin.question() == Some(Purpose::Era);
        if self.all.ids_where(is_asked).is_empty() {
            let to = self.base.session.ready().map(|ready| Address {
                session: None,
                version: Some(Version::V2026_07_28),
                ..ready.address.clone()
            });
            let request = OwnRequest::new(Purpose::Era, "server/discover", HANDSHAKE_LIMIT);
            let route = connection.map_or(Route::Any, Route::Prefer);
            self.ask(OwnRequest { to, route, ..request });
        }
    }

    /// Handles the reply to a question for the era, and follows a server that changed.
    pub(super) fn era_told(&mut self, generation: Generation, word: OwnOutcome) {
        let is_current = self.base.session.current_generation() == Some(generation);
        let found = match word {
            OwnOutcome::Answered(reply) if is_current => {
                read_era(&mut self.base, generation, *reply)
            }
            _ => FoundEra { era: None, refused_by: None },
        };
        self.base.cx.then(CallEffect::ResolveEras(found));
    }

    /// Tells all calls that waited for it what was found out about the era.
    pub(super) fn resolve_eras(&mut self, found: FoundEra) {
        let is_doubted = |exchange: &Exchange| matches!(&exchange.state, State::Doubted(doubt) if matches!(**doubt, HeldBack::Era(_)));
        for id in self.all.ids_where(is_doubted) {
            self.base.cx.then(CallEffect::ResolveEra(id, found));
        }
    }

    /// Tells one call what was found out about the era that it was sent in.
    pub(super) fn resolve_era(&mut self, id: ExchangeId, found: FoundEra) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let placeholder = State::Waiting(Waiting::SessionCheck);
        let State::Doubted(doubt) = std::mem::replace(&mut exchange.state, placeholder) else {
            return;
        };
        let HeldBack::Era(EraDoubt { otherwise, refusal, is_proof }) = *doubt else { return };
        let has_changed = found.era.is_some_and(|era| era != exchange.era());
        let is_refused = has_changed && (is_proof || found.refused_by == Some(refusal));
        let newer_than = exchange.sent.as_ref().map(Sent::generation);
        self.decide(id, |exchange: &mut Exchange, rules: &mut Rules<'_>| {
            let is_repeated = has_changed && exchange.may_follow_a_refusal(rules, is_refused);
            if !is_repeated && is_refused {
                return Exchange::refused_after_a_redirect();
            }
            if !is_repeated {
                return exchange.post_answered(rules, otherwise);
            }
            exchange.newer_than = newer_than;
            exchange.counters.note(if is_refused { Delivery::Refused } else { Delivery::Unknown });
            Step::Again(Then::Send)
        });
    }
}

/// Reads the server's era from its reply, and follows a server that changed.
fn read_era(base: &mut Base, generation: Generation, reply: OwnReply) -> FoundEra {
    let OwnReply { head, reading, named, .. } = reply;
    let (found, server) = match discovery::verdict_of(&head, named.as_ref(), reading.answer()) {
        Verdict::Modern(version) => (Era::Modern, named.map(|it| (version, it))),
        Verdict::Legacy => (Era::Legacy, None),
        Verdict::Disjoint { .. } | Verdict::NoEvidence | Verdict::Refused => {
            return FoundEra { era: None, refused_by: None };
        }
    };
    let is_refused = reading.answer().is_none_or(|answer| answer.error().is_some());
    let refused_by = is_refused.then(|| RefusedBy::new(&head, &reading));
    let has_changed = found != base.session.era();
    base.session.note_refused_by(refused_by);
    if has_changed {
        base.session.found_era(&mut base.cx, found);
        base.session.lose(&mut base.cx, generation);
        if let Some((version, Answer::Result(server))) = server {
            base.cx.then(SessionEffect::BeginStateless(version, server));
        }
    }
    FoundEra { era: Some(found), refused_by }
}
