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

use crate::answer::PostReading;
use crate::answer::discovery::{self, Verdict};
use crate::era::{Era, Version};
use crate::event::Remedy;
use crate::exchange::{
    Doubt, EraDoubt, Exchange, Purpose, RefusedBy, Rules, Sent, State, Step, Then, Waiting,
};
use crate::failure::Delivery;
use crate::head::AnswerHead;
use crate::ids::{ExchangeId, Generation};
use crate::link::calls::{OwnOutcome, OwnReply, OwnRequest};
use crate::link::session::Ready;
use crate::link::{HANDSHAKE_LIMIT, Link};
use crate::message::{Answer, Json};
use crate::moment::Moment;
use crate::outcome::Reason;
use crate::output::{Address, Route};

impl RefusedBy {
    pub(crate) fn new(head: &AnswerHead, reading: &PostReading) -> Self {
        let code = reading.answer().and_then(Answer::error).map(|error| error.code);
        Self { status: head.status, code }
    }
}

impl Link {
    /// Holds a refusal back until the server was asked for its era.
    pub(crate) fn doubt_era(&mut self, now: Moment, id: ExchangeId, doubt: EraDoubt) {
        self.hiccup(now, id, Reason::Nothing, Remedy::CheckEra);
        let Some(exchange) = self.calls.get_mut(id) else { return };
        exchange.counters.era_asked = true;
        let generation = exchange.sent.as_ref().map(Sent::generation);
        let connection = exchange.live().and_then(|live| live.connection);
        self.enter(now, id, State::Doubted(Box::new(Doubt::Era(doubt))));
        if generation != self.current_generation() {
            // The server was asked meanwhile, and another session has taken the place of the call's.
            let (found, asked) = (Some(self.session.era()), self.session.refused_by());
            return self.resolve_era(now, id, found, asked);
        }
        let is_asked = |exchange: &Exchange| exchange.origin.question() == Some(Purpose::Era);
        if self.calls.ids_where(is_asked).is_empty() {
            let to = self.session.ready().map(|ready| Address {
                session: None,
                version: Some(Version::V2026_07_28),
                ..ready.address.clone()
            });
            let request = OwnRequest::new(Purpose::Era, "server/discover", HANDSHAKE_LIMIT);
            let route = connection.map_or(Route::Any, Route::Prefer);
            self.ask(now, OwnRequest { to, route, ..request });
        }
    }

    /// Handles the reply to a question for the era.
    pub(crate) fn era_told(&mut self, now: Moment, generation: Generation, word: OwnOutcome) {
        let is_current = self.current_generation() == Some(generation);
        let (found, refusal) = match word {
            OwnOutcome::Answered(reply) if is_current => self.read_era(now, generation, &reply),
            _ => (None, None),
        };
        let is_doubted = |exchange: &Exchange| matches!(&exchange.state, State::Doubted(doubt) if matches!(**doubt, Doubt::Era(_)));
        for id in self.calls.ids_where(is_doubted) {
            self.resolve_era(now, id, found, refusal);
        }
    }

    /// Reads the server's era from its reply, and follows a server that changed. Returns the era, if the
    /// reply tells it, and how the question was refused, if it was.
    fn read_era(
        &mut self,
        now: Moment,
        generation: Generation,
        reply: &OwnReply,
    ) -> (Option<Era>, Option<RefusedBy>) {
        let OwnReply { head, reading, named, .. } = reply;
        let (found, server) = match discovery::verdict_of(head, named.as_ref(), reading.answer()) {
            Verdict::Modern(version) => (Era::Modern, named.clone().map(|it| (version, it))),
            Verdict::Legacy => (Era::Legacy, None),
            Verdict::Disjoint { .. } | Verdict::NoEvidence | Verdict::Refused => {
                return (None, None);
            }
        };
        if found != self.session.era() {
            self.session.found_era(&mut self.cx, now, found);
            self.lose_session(now, generation);
            if let Some((version, Answer::Result(server))) = server {
                self.begin_stateless(now, version, server);
            }
        }
        let is_refused = reading.answer().is_none_or(|answer| answer.error().is_some());
        let refused_by = is_refused.then(|| RefusedBy::new(head, reading));
        self.session.note_refused_by(refused_by);
        (Some(found), refused_by)
    }

    fn begin_stateless(&mut self, now: Moment, version: Version, server: Json) {
        let generation = self.session.next_generation();
        let address = Address { generation, ..Address::default() };
        self.become_ready(now, Ready::new(version, address, Some(server)));
    }

    /// Tells one call what was found out about the era that it was sent in.
    fn resolve_era(
        &mut self,
        now: Moment,
        id: ExchangeId,
        found: Option<Era>,
        asked: Option<RefusedBy>,
    ) {
        let Some(exchange) = self.calls.get_mut(id) else { return };
        let placeholder = State::Waiting(Waiting::SessionCheck);
        let State::Doubted(doubt) = std::mem::replace(&mut exchange.state, placeholder) else {
            return;
        };
        let Doubt::Era(EraDoubt { otherwise, refusal, is_proof }) = *doubt else { return };
        let has_changed = found.is_some_and(|found| found != exchange.era());
        let is_refused = has_changed && (is_proof || asked == Some(refusal));
        let newer_than = exchange.sent.as_ref().map(Sent::generation);
        self.decide(now, id, |exchange: &mut Exchange, rules: &mut Rules<'_>| {
            let is_repeated = is_refused || (has_changed && rules.is_safe);
            if !is_repeated {
                return exchange.post_answered(rules, otherwise);
            }
            exchange.newer_than = newer_than;
            exchange.counters.note(if is_refused { Delivery::Refused } else { Delivery::Unknown });
            Step::Again(Then::Send)
        });
    }
}
