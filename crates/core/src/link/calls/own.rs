//! Requests that the link makes for itself: exchanges whose outcome goes to the part that asked.
//!
//! ```text
//!   questions   asked once; any result ends them                    ──▶ settled: the reply, or none
//!   the rest    repeated like a call that only reads                ──▶ settled: answer or error
//! ```
//! They take no place in flight, wait at no gate and do not count as calls. Otherwise they are sent, read,
//! timed and ended like every exchange.

use std::time::Duration;

use ridethrough_wire::message::Answer;

use super::Calls;
use super::exchanges::Exchanges;
use crate::answer::status::stream_head;
use crate::answer::{PostReading, read_streamed};
use crate::exchange::{Deadline, Ending, Exchange, Origin, Purpose, Sent, Then};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::link::base::Base;
use crate::link::effects::{Effect, StandingStream};
use crate::link::own_request::{OwnOutcome, OwnReply, OwnRequest};
use crate::link::timers::Timer;
use crate::outcome::CallName;
use crate::output::Route;
use crate::replay::ReplayRule;

impl Calls {
    pub(crate) fn clear_away(&mut self, exchange: &Exchange, carrier: Option<AttemptId>) {
        self.base.cx.timers.set(Timer::Exchange(exchange.id), None);
        self.let_go(exchange, carrier);
    }

    /// Drops an exchange of the link whose outcome is no longer wanted.
    pub(crate) fn drop_own(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.all.remove(id) {
            self.clear_away(&exchange, None);
        }
    }

    /// Whether an exchange is a question of the link.
    pub(crate) fn is_question(&self, id: ExchangeId) -> bool {
        self.all.get(id).is_some_and(|exchange| exchange.origin.question().is_some())
    }

    /// Sends a request for the link itself.
    pub(crate) fn ask(&mut self, request: OwnRequest) {
        let now = self.base.cx.now;
        let OwnRequest { purpose, method, params, to, route, within } = request;
        let within = match route {
            Route::Prefer(_) => within.min(SILENCE_LIMIT),
            _ => within,
        };
        let call = CallName { method, tool: None };
        let deadline = Deadline { at: now + within, is_callers: true, extension: None };
        let rule = ReplayRule::Repeatable;
        let id = self.add(call, params, rule, deadline);
        if let Some(exchange) = self.all.get_mut(id) {
            exchange.origin = Origin::Link(purpose);
            (exchange.to, exchange.route) = (to, route);
        }
        match Origin::Link(purpose).question() {
            // A request with an address of its own goes out at once: for some, whether it can be sent at all
            // is the question.
            Some(_) => self.post(id),
            None => self.let_out(id, Then::Send),
        }
    }

    /// Ends a question that was answered by a body.
    pub(crate) fn settle_by_body(
        &mut self,
        id: ExchangeId,
        head: AnswerHead,
        reading: PostReading,
        named: Option<Answer>,
    ) {
        let Some(exchange) = self.all.get(id) else { return };
        let Some(sent) = exchange.sent.clone() else { return };
        let credentials = self.credentials_of(id);
        let reply = OwnReply { head, reading, named, to: sent.to, credentials };
        self.settle(id, OwnOutcome::Answered(Box::new(reply)));
    }

    /// Handles a question that could not be sent, or whose answer broke off. A question about a session or an
    /// era is asked again: that does no harm, and its answer decides what becomes of calls.
    pub(crate) fn question_failed(&mut self, id: ExchangeId, failure: Failure) {
        let Some(exchange) = self.all.get(id) else { return };
        let decides = matches!(
            exchange.origin,
            Origin::Link(Purpose::Credentials | Purpose::Era | Purpose::Session)
        );
        let is_unsent = failure.delivery == Delivery::NotSent;
        let may_pass = failure.cause != Cause::ConnectionGone
            && !failure.cause.is_misbehaviour()
            && !failure.cause.is_lasting(self.base.reach.connected_before());
        if decides && may_pass && (is_unsent || exchange.counters.attempts < MOST_QUESTIONS) {
            self.let_out(id, Then::Send)
        } else {
            self.settle(id, OwnOutcome::Nothing(failure))
        }
    }

    /// Hands the outcome of an exchange of the link to the part that asked.
    pub(crate) fn own_finished(
        &mut self,
        exchange: &Exchange,
        outcome: Result<Answer, Ending>,
        carrier: Option<AttemptId>,
    ) {
        self.clear_away(exchange, carrier);
        if self.base.cx.is_closing() {
            return;
        }
        match exchange.origin {
            Origin::Application => {}
            Origin::Link(Purpose::Restore) => {
                let is_done = matches!(outcome, Ok(Answer::Result(_)));
                self.base.session.restored(&mut self.base.cx, exchange, is_done);
            }
            Origin::Link(Purpose::Tools) => self.tools_page(outcome.ok().as_ref()),
            Origin::Link(purpose) => {
                if outcome.is_err() && self.ask_elsewhere(purpose, exchange) {
                    return;
                }
                let word = word_of(exchange, outcome);
                settled(&mut self.base, purpose, about(exchange), word);
            }
        }
    }

    /// Asks a question again on another connection, after silence on the one that it was meant for: that one
    /// may be dead without a sign. Returns whether it was asked.
    fn ask_elsewhere(&mut self, purpose: Purpose, exchange: &Exchange) -> bool {
        let Route::Prefer(silent) = exchange.route else { return false };
        let (to, route) = (exchange.to.clone(), Route::Instead(silent));
        let request = OwnRequest::new(purpose, exchange.call.method.clone(), ELSEWHERE_LIMIT);
        self.ask(OwnRequest { to, route, ..request });
        true
    }

    fn settle(&mut self, id: ExchangeId, word: OwnOutcome) {
        let Some(exchange) = self.all.remove(id) else { return };
        self.clear_away(&exchange, None);
        if let Some(purpose) = exchange.origin.question()
            && !self.base.cx.is_closing()
        {
            settled(&mut self.base, purpose, about(&exchange), word);
        }
    }

    /// Hands what came of a question about the session `about` to the part that asked.
    pub(crate) fn own_settled(
        &mut self,
        (purpose, about): (Purpose, Generation),
        word: OwnOutcome,
        stream: StandingStream,
    ) {
        match purpose {
            Purpose::Credentials => self.credentials_told(word),
            Purpose::Era => self.era_told(about, word),
            Purpose::Gate => self.gate_told(&word),
            Purpose::Home => self.home_told(about, &word, stream),
            Purpose::Liveness => {
                self.base.health.liveness_told(
                    &mut self.base.cx,
                    &mut self.base.session,
                    about,
                    word,
                );
            }
            Purpose::Probation => self.probation_told(word),
            Purpose::Session => self.session_told(about, word, stream),
            Purpose::Restore | Purpose::Tools => {}
        }
    }

    /// Forgets the restoring requests that are out.
    pub(super) fn drop_restoring(&mut self) {
        for id in self.all.ids_where(is_restoring) {
            self.drop_own(id);
        }
    }
}

impl Exchanges {
    /// Returns how many restoring requests are out.
    pub(crate) fn restoring(&self) -> usize {
        self.iter().filter(|it| is_restoring(it)).count()
    }
}

fn is_restoring(exchange: &Exchange) -> bool {
    exchange.origin == Origin::Link(Purpose::Restore)
}

/// Tells the part that asked what came of its question about the session `about`.
fn settled(base: &mut Base, purpose: Purpose, about: Generation, word: OwnOutcome) {
    if let (Purpose::Era | Purpose::Session, OwnOutcome::Answered(reply)) = (purpose, &word)
        && let PostReading::Unauthorized { challenge, .. } = &reply.reading
    {
        // No call would trigger the renewal: a server of the other era refuses a call for its form before it
        // looks at the credentials.
        base.credentials.renew(&mut base.cx, reply.credentials, challenge.clone());
    }
    base.cx.then(Effect::OwnSettled(purpose, about, word));
}

/// Returns the session that an exchange of the link was about.
fn about(exchange: &Exchange) -> Generation {
    exchange.sent.as_ref().map(Sent::generation).unwrap_or_default()
}

/// Returns what came of a question whose answer arrived on a stream, or not at all.
fn word_of(exchange: &Exchange, outcome: Result<Answer, Ending>) -> OwnOutcome {
    let (Ok(answer), Some(Sent { to, .. })) = (outcome, exchange.sent.clone()) else {
        return OwnOutcome::Nothing(Failure::unknown(Cause::TimedOut));
    };
    let live = exchange.live();
    let mut head = stream_head();
    head.connection = live.and_then(|live| live.connection);
    let reading = read_streamed(answer.clone(), to.carried(), true);
    let credentials = live.map(|live| live.credentials).unwrap_or_default();
    OwnOutcome::Answered(Box::new(OwnReply { head, reading, named: Some(answer), to, credentials }))
}

/// How long the preferred connection may stay silent after a question.
const SILENCE_LIMIT: Duration = Duration::from_secs(3);
/// How long the answer may take when the question is asked again on another connection.
const ELSEWHERE_LIMIT: Duration = Duration::from_secs(7);
/// How often a question is asked in all if its answer breaks off.
const MOST_QUESTIONS: u32 = 3;
