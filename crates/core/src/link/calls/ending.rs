//! The end of an exchange. Every exchange ends here, once, and gives back all that it holds.

use super::Calls;
use crate::answer::status;
use crate::breaker::Incident;
use crate::era::CancelBy;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, Phase, Sent};
use crate::failure::Delivery;
use crate::ids::{AttemptId, ExchangeId};
use crate::link::CONNECT;
use crate::link::Link;
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::message::Answer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::Output;

impl Calls {
    /// Row 15: drains the stream that brought the answer and aborts every other attempt of the exchange.
    pub(crate) fn let_go(
        &mut self,
        cx: &mut Context,
        exchange: &Exchange,
        carrier: Option<AttemptId>,
    ) {
        let mut live = exchange.live();
        while let Some(stream) = live {
            let is_carrier = carrier == Some(stream.attempt);
            if is_carrier && matches!(stream.phase, Phase::Stream { .. }) {
                cx.drain(stream.attempt);
            } else {
                cx.abort(stream.attempt);
            }
            live = stream.replaces.as_deref();
        }
    }
}

impl Link {
    /// Ends an exchange without an answer.
    pub(crate) fn end(&mut self, now: Moment, id: ExchangeId, ending: Ending) {
        let Some(exchange) = self.calls.get_mut(id) else { return };
        if !exchange.origin.is_application() {
            return self.finish(now, id, Err(ending), None);
        }
        let is_refused = matches!(ending.kind, Kind::Rejected { .. } | Kind::Unauthorized);
        if let Some(answer) = exchange.refused_with.take().filter(|_| is_refused) {
            // The refusal (a deferral, a 401 or a missing scope) carried a JSON-RPC answer: the call ends
            // with that.
            return self.finish(now, id, Ok(answer), None);
        }
        let sent = exchange.sent.clone();
        match ending.kind {
            Kind::Cancelled | Kind::DeadlinePassed => {
                let is_unwanted = exchange.may_have_arrived() && !exchange.asks_for_task();
                exchange.gave_up();
                if let Some(sent) = sent.as_ref().filter(|_| is_unwanted) {
                    self.tell_cancelled(now, sent);
                }
            }
            Kind::Closed => exchange.gave_up(),
            _ => self.reach.note_failure(now, ending.reason.clone()),
        }
        if is_strike(&ending) {
            let generation = sent.map_or(0, |sent| sent.generation().number());
            let incident = match ending.kind {
                Kind::SessionLost => Incident::Session(generation),
                _ => self.reach.incident(),
            };
            self.health.strike(&mut self.cx, now, incident);
        }
        self.finish(now, id, Err(ending), None);
    }

    /// Ends an exchange with its outcome; the one place that does. `carrier` is the attempt that brought the
    /// answer.
    pub(crate) fn finish(
        &mut self,
        now: Moment,
        id: ExchangeId,
        outcome: Result<Answer, Ending>,
        carrier: Option<AttemptId>,
    ) {
        let Some(exchange) = self.calls.exchanges.remove(&id) else { return };
        if !exchange.origin.is_application() {
            return self.own_finished(now, &exchange, outcome, carrier);
        }
        let trust = self.cx.policy.trust_hints;
        let is_safe = || self.calls.tools.is_safe(&exchange.call, exchange.rule, trust);
        let mut outcome = outcome.map_err(|ending| exchange.error(now, ending, is_safe()));
        if let Err(error) = &mut outcome {
            let before = exchange.counters.handshakes_before;
            error.handshakes = self.session.handshakes().saturating_sub(before);
        }
        if let Some(sent) = &exchange.sent {
            self.calls.wires.remove(&sent.wire_id);
        }
        if outcome.is_err() {
            self.forget_subscriber(&exchange);
        }
        self.cx.timers.set(Timer::Exchange(id), None);
        self.admission.leave_line(id);
        self.calls.let_go(&mut self.cx, &exchange, carrier);
        self.outbound.withdraw_questions(&mut self.cx, |question| question.exchange == Some(id));
        self.calls.withdraw_round(&mut self.cx, &exchange);
        self.outbound.drop_answers(&mut self.cx, now, |_, asked_by| asked_by == Some(id));
        let is_connect = &*exchange.call.method == CONNECT;
        if is_connect && exchange.sent.is_some() {
            self.session.note_server(outcome.as_ref().ok());
        }
        if let Ok(answer) = &mut outcome
            && !is_connect
        {
            if exchange.sent.is_some() {
                self.health.call_answered();
            }
            if matches!(answer, Answer::Result(_)) {
                self.health.note_success(&exchange);
            }
            if let Some(other) = self.learn_from(&exchange, answer) {
                *answer = other;
            }
        }
        let lifetime = match &outcome {
            Ok(Answer::Result(result)) => exchange.lifetime(result),
            _ => None,
        };
        let delivery = match &outcome {
            Ok(_) => Delivery::Unknown,
            Err(error) => error.delivery,
        };
        self.cx.tell(Event::CallEnded {
            exchange: id,
            call: exchange.call.clone(),
            kind: outcome.as_ref().err().map(|error| error.kind),
            attempts: exchange.counters.attempts,
            elapsed: now.since(exchange.began),
            delivery,
        });
        self.cx.put(Output::Finish { exchange: id, outcome, lifetime });
        self.canary_returned(now, id);
        self.give_place_back(now, id);
    }

    /// Rows 20 and 21: tells the server that no caller waits for the answer. A stateless server learns it
    /// from the closed stream alone.
    pub(crate) fn tell_cancelled(&mut self, now: Moment, sent: &Sent) {
        if sent.era().cancels_by() == CancelBy::Notification {
            self.send_cancelled(now, sent);
        }
    }
}

/// Whether an ending counts as a strike of the breaker: no answer, for a transport reason.
fn is_strike(ending: &Ending) -> bool {
    match (&ending.kind, &ending.reason) {
        (Kind::Exhausted, reason) => *reason != BUDGET_EMPTY,
        (Kind::Interrupted, Reason::Transport(_)) => true,
        (Kind::Interrupted, Reason::Status(status)) => status::is_outage(*status),
        (Kind::SessionLost | Kind::Unreachable, _) => true,
        _ => false,
    }
}

pub(crate) const BUDGET_EMPTY: Reason = Reason::Rule("the retry budget of this server is empty");
