//! Rounds of a stateless call: the server answers that it needs input, the application gives it, and the call
//! is sent again with the input.
//!
//! ```text
//!   Live ──input_required──▶ Waiting for input ──all questions answered──▶ sent again, a new request
//! ```
//! The application sees these requests for input as questions, like those of a legacy server.

use std::time::Duration;

use ridethrough_wire::era::Era;
use ridethrough_wire::message::{Answer, Params};

use super::Calls;
use crate::exchange::{Ending, Exchange, RoundReply, State, Then, Waiting, Wanted};
use crate::failure::Delivery;
use crate::ids::{AttemptId, ExchangeId, QuestionId};
use crate::outcome::{Kind, Reason};
use crate::output::Delivered;
use crate::rule::Rule;

impl Calls {
    /// Withdraws the open questions of a call that is over.
    pub(crate) fn withdraw_round(&mut self, exchange: &Exchange) {
        let void: Vec<QuestionId> = exchange.round.questions().collect();
        for question in void {
            if self.round_questions.remove(&question).is_some() {
                self.base.cx.deliver(Delivered::Withdrawn { question });
            }
        }
    }

    /// Handles the answer to an exchange. In the stateless era it may ask for input and begin another round.
    pub(crate) fn answered(&mut self, id: ExchangeId, answer: Answer, carrier: Option<AttemptId>) {
        let Some(exchange) = self.all.get(id) else { return };
        if !exchange.origin.is_application() {
            return self.finish(id, Ok(answer), carrier);
        }
        if exchange.era() == Era::Modern && self.mend(id, &answer, carrier) {
            return;
        }
        let Some(exchange) = self.all.get(id) else { return };
        let reply = match (&answer, exchange.era()) {
            (Answer::Result(result), Era::Modern) => {
                let can = exchange.capabilities.as_ref();
                let can = can.unwrap_or_else(|| self.base.session.capabilities());
                RoundReply::of(&exchange.call.method, result, can)
            }
            _ => RoundReply::Complete,
        };
        match reply {
            RoundReply::Complete => self.finish(id, Ok(answer), carrier),
            RoundReply::InputRequired(_) | RoundReply::Unknown if exchange.round.is_callers() => {
                self.finish(id, Ok(answer), carrier);
            }
            RoundReply::InputRequired(wanted) => self.begin_round(id, wanted, carrier),
            RoundReply::Invalid(why) => self.misbehaved(id, why),
            RoundReply::Unknown => {
                self.misbehaved(id, Rule::UndeclaredType);
            }
        }
    }

    /// Answers a question of a round. Returns whether `question` was one.
    pub(crate) fn answer_round(&mut self, question: QuestionId, answer: &Answer) -> bool {
        let Some(id) = self.round_questions.remove(&question) else { return false };
        let Some(exchange) = self.all.get_mut(id) else { return true };
        match answer {
            Answer::Result(result) => {
                exchange.round.give(question, result.clone());
                self.go_on_if_complete(id);
            }
            Answer::Error(_) => {
                let words = answer.error().unwrap_or_default().message;
                let words = format!("input that the server asked for was not given: {words}");
                exchange.counters.note(Delivery::Unknown);
                self.end(id, Ending::new(Kind::Incompatible, Reason::Said(words.into())));
            }
        }
        true
    }

    /// Removes what earlier rounds added to a call that goes to a server without rounds. Returns whether the
    /// call may go out: it would begin anew there, and a call that is not safe must not do twice what a round
    /// has done.
    pub(crate) fn leave_rounds(&mut self, id: ExchangeId) -> bool {
        let Some(exchange) = self.all.get_mut(id) else { return false };
        let Some(params) = exchange.round.leave(exchange.params.text()) else { return true };
        exchange.params = Params::new(Some(params), exchange.params.has_token());
        let is_safe =
            self.tools.is_safe(&exchange.call, exchange.rule, self.base.cx.policy.trust_hints);
        if !is_safe {
            let reason = Reason::Rule(Rule::RoundsOutsideSession);
            self.end(id, Ending::new(Kind::Interrupted, reason));
        }
        is_safe
    }

    fn begin_round(&mut self, id: ExchangeId, wanted: Wanted, carrier: Option<AttemptId>) {
        let Some(exchange) = self.all.get(id) else { return };
        let round = exchange.round.next(exchange.params.text(), wanted.request_state);
        let Some(mut round) = round else {
            return self.misbehaved(id, Rule::AsksForEver);
        };
        self.release(id, carrier);
        for (key, input) in wanted.input_requests {
            let question = self.base.outbound.next_question();
            round.ask(key, question);
            self.round_questions.insert(question, id);
            let (method, params) = (input.method, input.params);
            let asked = Delivered::Question { question, exchange: Some(id), method, params };
            self.base.cx.deliver(asked);
        }
        if let Some(exchange) = self.all.get_mut(id) {
            exchange.round = round;
            // The server has begun to run the call, and it is unknown how far it came.
            exchange.counters.note(Delivery::Unknown);
        }
        self.go_on_if_complete(id);
    }

    /// Sends the call again once all input is there.
    fn go_on_if_complete(&mut self, id: ExchangeId) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let Some(params) = exchange.round.params() else { return };
        exchange.params = Params::new(Some(params), exchange.params.has_token());
        if exchange.round.is_pause() {
            self.wait(id, Waiting::Until { at: self.base.cx.now + PAUSE, then: Then::Send })
        } else {
            self.let_out(id, Then::Send)
        }
    }

    /// Releases the attempt that brought the last answer, because the next request is a new one.
    pub(crate) fn release(&mut self, id: ExchangeId, carrier: Option<AttemptId>) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let wire_id = exchange.sent.as_ref().map(|sent| sent.wire_id);
        let attempt = exchange.live().map(|live| live.attempt);
        exchange.enter(self.base.cx.now, State::Waiting(Waiting::Input));
        if let Some(wire_id) = wire_id {
            self.all.forget_wire(wire_id);
        }
        match attempt {
            Some(attempt) if carrier == Some(attempt) => self.base.cx.drain(attempt),
            Some(attempt) => self.base.cx.abort(attempt),
            None => {}
        }
        self.set_alarm(id);
    }

    fn misbehaved(&mut self, id: ExchangeId, why: Rule) {
        if let Some(exchange) = self.all.get_mut(id) {
            exchange.counters.note(Delivery::Unknown);
        }
        self.end(id, Ending::new(Kind::PeerMisbehaved, Reason::Rule(why)));
    }
}

/// How long a call pauses when the server returns its state and asks for no input: such a server sheds load.
const PAUSE: Duration = Duration::from_millis(500);
