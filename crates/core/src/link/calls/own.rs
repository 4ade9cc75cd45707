//! Requests that the link makes for itself: exchanges whose outcome goes to the part that asked.
//!
//! ```text
//!   questions   asked once; any result ends them                    ──▶ settled: the reply, or none
//!   the rest    repeated like a call that only reads                ──▶ settled: answer or error
//! ```
//! They take no place in flight, wait at no gate and do not count as calls. Otherwise they are sent, read,
//! timed and ended like every exchange.

use std::sync::Arc;
use std::time::Duration;

use super::Calls;
use crate::answer::status::stream_head;
use crate::answer::{PostReading, read_streamed};
use crate::exchange::{Deadline, Ending, Exchange, Origin, Purpose, Sent, Then};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ConnectionId, CredentialsId, ExchangeId, Generation};
use crate::link::Link;
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::message::{Answer, Params};
use crate::moment::Moment;
use crate::outcome::CallName;
use crate::output::{Address, Route};
use crate::replay::ReplayRule;

/// A request that the link makes for itself.
pub(crate) struct OwnRequest {
    pub(crate) purpose: Purpose,
    pub(crate) method: Arc<str>,
    pub(crate) params: Params,
    /// The address, if it is not that of the session in force.
    pub(crate) to: Option<Address>,
    pub(crate) route: Route,
    pub(crate) within: Duration,
}

impl OwnRequest {
    /// Returns a request without params to the session in force.
    pub(crate) fn new(purpose: Purpose, method: impl Into<Arc<str>>, within: Duration) -> Self {
        let (method, params) = (method.into(), Params::new(None, false));
        Self { purpose, method, params, to: None, route: Route::Any, within }
    }
}

/// What came of a question of the link.
#[derive(Debug)]
pub(crate) enum OwnOutcome {
    Answered(Box<OwnReply>),
    /// No reply, and why.
    Nothing(Failure),
}

/// The reply to a question of the link.
#[derive(Debug)]
pub(crate) struct OwnReply {
    pub(crate) head: AnswerHead,
    pub(crate) reading: PostReading,
    /// The answer in the body that names this request by its id.
    pub(crate) named: Option<Answer>,
    /// Where the question was sent.
    pub(crate) to: Address,
    /// The credentials that the question was sent with.
    pub(crate) credentials: CredentialsId,
}

impl OwnReply {
    /// Returns the connection that carried the reply.
    pub(crate) const fn connection(&self) -> Option<ConnectionId> {
        self.head.connection
    }
}

impl Calls {
    pub(crate) fn clear_away(
        &mut self,
        cx: &mut Context,
        exchange: &Exchange,
        carrier: Option<AttemptId>,
    ) {
        if let Some(sent) = &exchange.sent {
            self.wires.remove(&sent.wire_id);
        }
        cx.timers.set(Timer::Exchange(exchange.id), None);
        self.let_go(cx, exchange, carrier);
    }

    /// Drops an exchange of the link whose outcome is no longer wanted.
    pub(crate) fn drop_own(&mut self, cx: &mut Context, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.remove(&id) {
            self.clear_away(cx, &exchange, None);
        }
    }

    /// Whether an exchange is a question of the link.
    pub(crate) fn is_question(&self, id: ExchangeId) -> bool {
        self.get(id).is_some_and(|exchange| exchange.origin.question().is_some())
    }
}

impl Link {
    /// Sends a request for the link itself.
    pub(crate) fn ask(&mut self, now: Moment, request: OwnRequest) -> ExchangeId {
        let OwnRequest { purpose, method, params, to, route, within } = request;
        let within = match route {
            Route::Prefer(_) => within.min(SILENCE_LIMIT),
            _ => within,
        };
        let call = CallName { method, tool: None };
        let deadline = Deadline { at: now + within, is_callers: true, extension: None };
        let id = self.new_exchange(now, call, params, ReplayRule::Repeatable, deadline);
        if let Some(exchange) = self.calls.get_mut(id) {
            exchange.origin = Origin::Link(purpose);
            (exchange.to, exchange.route) = (to, route);
        }
        match Origin::Link(purpose).question() {
            // A request with an address of its own goes out at once: for some, whether it can be sent at all
            // is the question.
            Some(_) => self.post(now, id),
            None => self.let_out(now, id, Then::Send),
        }
        id
    }

    /// Ends a question that was answered by a body.
    pub(crate) fn settle_by_body(
        &mut self,
        now: Moment,
        id: ExchangeId,
        head: AnswerHead,
        reading: PostReading,
        named: Option<Answer>,
    ) {
        let Some(exchange) = self.calls.get(id) else { return };
        let Some(sent) = exchange.sent.clone() else { return };
        let credentials = self.credentials_of(id);
        let reply = OwnReply { head, reading, named, to: sent.to, credentials };
        self.settle(now, id, OwnOutcome::Answered(Box::new(reply)));
    }

    /// Handles a question that could not be sent, or whose answer broke off. A question about a session or an
    /// era is asked again: that does no harm, and its answer decides what becomes of calls.
    pub(crate) fn question_failed(&mut self, now: Moment, id: ExchangeId, failure: Failure) {
        let Some(exchange) = self.calls.get(id) else { return };
        let decides = matches!(exchange.origin, Origin::Link(Purpose::Era | Purpose::Session));
        let is_unsent = failure.delivery == Delivery::NotSent;
        let may_pass = failure.cause != Cause::ConnectionGone
            && !failure.cause.is_misbehaviour()
            && !failure.cause.is_lasting(self.reach.connected_before());
        if decides && may_pass && (is_unsent || exchange.counters.attempts < MOST_QUESTIONS) {
            self.let_out(now, id, Then::Send)
        } else {
            self.settle(now, id, OwnOutcome::Nothing(failure))
        }
    }

    /// Hands the outcome of an exchange of the link to the part that asked.
    pub(crate) fn own_finished(
        &mut self,
        now: Moment,
        exchange: &Exchange,
        outcome: Result<Answer, Ending>,
        carrier: Option<AttemptId>,
    ) {
        self.calls.clear_away(&mut self.cx, exchange, carrier);
        if self.closing.is_begun() {
            return;
        }
        match exchange.origin {
            Origin::Application => {}
            Origin::Link(Purpose::Restore) => self.restored(now, exchange, outcome.ok().as_ref()),
            Origin::Link(Purpose::Tools) => self.tools_page(now, outcome.ok().as_ref()),
            Origin::Link(purpose) => {
                if outcome.is_err() && self.ask_elsewhere(now, purpose, exchange) {
                    return;
                }
                let word = word_of(exchange, outcome);
                self.settled(now, purpose, about(exchange), word);
            }
        }
    }

    /// Asks a question again on another connection, after silence on the one that it was meant for: that one
    /// may be dead without a sign. Returns whether it was asked.
    fn ask_elsewhere(&mut self, now: Moment, purpose: Purpose, exchange: &Exchange) -> bool {
        let Route::Prefer(silent) = exchange.route else { return false };
        let (to, route) = (exchange.to.clone(), Route::Instead(silent));
        let request = OwnRequest::new(purpose, exchange.call.method.clone(), ELSEWHERE_LIMIT);
        self.ask(now, OwnRequest { to, route, ..request });
        true
    }

    fn settle(&mut self, now: Moment, id: ExchangeId, word: OwnOutcome) {
        let Some(exchange) = self.calls.exchanges.remove(&id) else { return };
        self.calls.clear_away(&mut self.cx, &exchange, None);
        if let Some(purpose) = exchange.origin.question()
            && !self.closing.is_begun()
        {
            self.settled(now, purpose, about(&exchange), word);
        }
    }

    /// Tells the part that asked what came of its question about the session `about`.
    fn settled(&mut self, now: Moment, purpose: Purpose, about: Generation, word: OwnOutcome) {
        if let (Purpose::Era | Purpose::Session, OwnOutcome::Answered(reply)) = (purpose, &word)
            && let PostReading::Unauthorized { challenge, .. } = &reply.reading
        {
            // No call would trigger the renewal: a server of the other era refuses a call for its form before
            // it looks at the credentials.
            self.renew_credentials(now, reply.credentials, challenge.clone());
        }
        match purpose {
            Purpose::Era => self.era_told(now, about, word),
            Purpose::Gate => self.gate_told(now, word),
            Purpose::Home => self.home_told(now, about, word),
            Purpose::Liveness => self.liveness_told(now, about, word),
            Purpose::Session => self.session_told(now, about, word),
            Purpose::Restore | Purpose::Tools => {}
        }
    }
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
