//! The end of an exchange. Every exchange ends here, once, and gives back all that it holds.

use ridethrough_wire::era::CancelBy;
use ridethrough_wire::message::Answer;

use super::Calls;
use super::subscribing::forget_subscriber;
use crate::answer::status;
use crate::breaker::Incident;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, Phase, Sent};
use crate::failure::Delivery;
use crate::ids::{AttemptId, ExchangeId};
use crate::link::CONNECT;
use crate::link::base::Base;
use crate::link::effects::CallEffect;
use crate::link::timers::Timer;
use crate::outcome::{CallError, Kind, Reason, told_in};
use crate::output::Output;
use crate::rule::Rule;

impl Calls {
    /// Row 15: drains the stream that brought the answer and aborts every other attempt of the exchange.
    pub(crate) fn let_go(&mut self, exchange: &Exchange, carrier: Option<AttemptId>) {
        let mut live = exchange.live();
        while let Some(stream) = live {
            let is_carrier = carrier == Some(stream.attempt);
            if is_carrier && matches!(stream.phase, Phase::Stream { .. }) {
                self.base.cx.drain(stream.attempt);
            } else {
                self.base.cx.abort(stream.attempt);
            }
            live = stream.replaces.as_deref();
        }
    }

    /// Ends an exchange without an answer.
    pub(crate) fn end(&mut self, id: ExchangeId, ending: Ending) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        if !exchange.origin.is_application() {
            return self.finish(id, Err(ending), None);
        }
        let is_refused = matches!(ending.kind, Kind::Rejected { .. } | Kind::Unauthorized);
        if let Some(answer) = exchange.refused_with.take().filter(|_| is_refused) {
            // The refusal (a deferral, a 401 or a missing scope) carried a JSON-RPC answer: the call ends
            // with that.
            return self.finish(id, Ok(answer), None);
        }
        let sent = exchange.sent.clone();
        match ending.kind {
            Kind::Cancelled | Kind::DeadlinePassed => {
                let is_unwanted = exchange.may_have_arrived() && !exchange.asks_for_task();
                exchange.gave_up();
                if let Some(sent) = sent.as_ref().filter(|_| is_unwanted) {
                    tell_cancelled(&mut self.base, sent);
                }
            }
            Kind::Closed => exchange.gave_up(),
            _ => self.base.cx.note_failure(ending.reason.clone()),
        }
        if is_strike(&ending) {
            let generation = sent.map_or(0, |sent| sent.generation().number());
            let incident = match ending.kind {
                Kind::SessionLost => Incident::Session(generation),
                _ => self.base.reach.incident(),
            };
            self.base.health.strike(&mut self.base.cx, incident);
        }
        self.finish(id, Err(ending), None);
    }

    /// Ends an exchange with its outcome; the one place that does. `carrier` is the attempt that brought the
    /// answer.
    pub(crate) fn finish(
        &mut self,
        id: ExchangeId,
        outcome: Result<Answer, Ending>,
        carrier: Option<AttemptId>,
    ) {
        let now = self.base.cx.now;
        let Some(exchange) = self.all.remove(id) else { return };
        if !exchange.origin.is_application() {
            return self.own_finished(&exchange, outcome, carrier);
        }
        let trust = self.base.cx.policy.trust_hints;
        let is_safe = |it: &Self| it.tools.is_safe(&exchange.call, exchange.rule, trust);
        let mut outcome = outcome.map_err(|ending| exchange.error(now, ending, is_safe(self)));
        if let Err(error) = &mut outcome {
            let before = exchange.counters.handshakes_before;
            error.handshakes = self.base.session.handshakes().saturating_sub(before);
        }
        if outcome.is_err() {
            forget_subscriber(&mut self.base, &exchange);
        }
        self.base.cx.timers.set(Timer::Exchange(id), None);
        self.base.admission.leave_line(id);
        self.let_go(&exchange, carrier);
        self.base
            .outbound
            .withdraw_questions(&mut self.base.cx, |question| question.exchange == Some(id));
        self.withdraw_round(&exchange);
        self.base.outbound.drop_answers(&mut self.base.cx, |_, asked_by| asked_by == Some(id));
        let is_connect = &*exchange.call.method == CONNECT;
        if is_connect && exchange.sent.is_some() {
            self.base.session.note_server(outcome.as_ref().ok());
        }
        if let Ok(answer) = &mut outcome
            && !is_connect
        {
            if exchange.sent.is_some() {
                self.base.health.call_answered();
            }
            if matches!(answer, Answer::Result(_)) {
                self.base.health.note_success(&exchange);
            }
            if let Some(other) = self.learn_from(&exchange, answer) {
                *answer = other;
            }
        }
        // The server has answered, but what it tells is that there is no answer: it is itself a front.
        let told = outcome.as_ref().ok().and_then(|answer| told_in(answer, &exchange.call));
        if let Some(doubt) = told {
            let said = doubt.said.map(|it| self.base.cx.secrets.masked(&it).into());
            outcome = Err(CallError { is_repeatable: is_safe(self), said, ..doubt });
        }
        let lifetime = match &outcome {
            Ok(Answer::Result(result)) => exchange.lifetime(result),
            _ => None,
        };
        let delivery = match &outcome {
            Ok(_) => Delivery::Unknown,
            Err(error) => error.delivery,
        };
        self.base.cx.tell(Event::CallEnded {
            exchange: id,
            call: exchange.call.clone(),
            kind: outcome.as_ref().err().map(|error| error.kind),
            attempts: exchange.counters.attempts,
            elapsed: now.since(exchange.began),
            delivery,
        });
        if self.base.admission.probation.is_on() {
            let kind = outcome.as_ref().err().map(|error| error.kind);
            if self.base.admission.probation.is_out(id) {
                self.probation_ended(id, kind);
            }
            if kind.is_none() && exchange.sent.is_some() {
                let attempt = exchange.live().map(|live| live.attempt);
                self.base.cx.then(CallEffect::ServerAnswered(carrier.or(attempt)));
            }
        }
        self.base.cx.put(Output::Finish { exchange: id, outcome, lifetime });
        self.canary_returned(id);
        if self.base.cx.has_asked() {
            self.base.cx.then(CallEffect::GivePlaceBack(id));
        } else {
            self.give_place_back(id);
        }
    }
}

/// Rows 20 and 21: tells the server that no caller waits for the answer. A stateless server learns it from the
/// closed stream alone.
pub(super) fn tell_cancelled(base: &mut Base, sent: &Sent) {
    if sent.era().cancels_by() == CancelBy::Notification {
        base.outbound.send_cancelled(&mut base.cx, sent);
    }
}

/// Whether an ending counts as a strike of the breaker: no answer, for a transport reason.
fn is_strike(ending: &Ending) -> bool {
    match (&ending.kind, &ending.reason) {
        (Kind::Exhausted, reason) => *reason != Reason::Rule(Rule::BudgetEmpty),
        (Kind::Interrupted, Reason::Transport(_)) => true,
        (Kind::Interrupted, Reason::Status(status)) => status::is_outage(*status),
        (Kind::SessionLost | Kind::Unreachable, _) => true,
        _ => false,
    }
}
