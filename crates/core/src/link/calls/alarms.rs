//! The timers of an exchange: its deadline, the end of its wait, and the next look at its silence.

use super::Calls;
use crate::exchange::{Awaited, Ending, Exchange, State, Waiting};
use crate::ids::ExchangeId;
use crate::link::timers::Timer;
use crate::outcome::{Kind, Reason};
use crate::rule::Rule;

impl Calls {
    /// Handles an exchange whose timer fired: its deadline passed, its wait ended, or it has been silent.
    pub(crate) fn exchange_due(&mut self, id: ExchangeId) {
        let now = self.base.cx.now;
        let Some(exchange) = self.all.get(id) else { return };
        if now >= exchange.deadline.at {
            let gate =
                self.base.admission.held(&exchange.call).filter(|_| exchange.awaits(Awaited::Gate));
            let retry_after = gate.map(|(until, _)| until.since(now));
            let reason = gate.map(|(_, status)| Reason::Status(status));
            let reason = reason.unwrap_or_else(|| self.awaited(exchange));
            let ending = Ending::new(Kind::DeadlinePassed, reason);
            return self.end_waiter(id, Ending { retry_after, ..ending });
        }
        match exchange.state {
            State::Accepted { until } if now >= until => {
                self.decide(id, |exchange, rules| {
                    exchange.never_answered(rules, Rule::AcceptedOnly)
                });
            }
            State::Waiting(Waiting::Until { at, then }) if now >= at => self.let_out(id, then),
            State::Waiting(Waiting::Link { .. })
                if exchange.waited(now) >= self.base.reach.patience(&self.base.cx.policy) =>
            {
                self.try_once_more(id);
            }
            State::Waiting(Waiting::Probation { .. })
                if exchange.waited(now) >= self.base.reach.patience(&self.base.cx.policy) =>
            {
                self.end_on_probation(id);
            }
            State::Waiting(Waiting::Session { .. }) => self.review_session_waiter(id),
            State::Live(_) => {
                self.base.health.ask_about_silence(&mut self.base.cx, &self.base.session);
                self.set_alarm(id);
            }
            _ => self.set_alarm(id),
        }
    }

    /// Returns what a call was waiting for when its deadline passed.
    fn awaited(&self, exchange: &Exchange) -> Reason {
        match exchange.state {
            State::Waiting(Waiting::Credentials(_) | Waiting::Scope) => {
                Reason::Rule(Rule::AwaitedCredentials)
            }
            State::Waiting(
                Waiting::Link { .. } | Waiting::Probation { .. } | Waiting::Session { .. },
            ) => self.out_of_patience(exchange.id).reason,
            State::Waiting(Waiting::Acknowledgement) => {
                Reason::Rule(Rule::SubscriptionNotAcknowledged)
            }
            State::Waiting(Waiting::Input) => Reason::Rule(Rule::AwaitedInput),
            State::Waiting(Waiting::Place) => Reason::Rule(Rule::AwaitedPlace),
            _ => Reason::Nothing,
        }
    }

    /// Sets the moment at which an exchange must be looked at again.
    pub(crate) fn set_alarm(&mut self, id: ExchangeId) {
        let Some(exchange) = self.all.get(id) else { return };
        let patience = self.base.reach.patience(&self.base.cx.policy);
        let own = match &exchange.state {
            State::Accepted { until } => Some(*until),
            State::Waiting(Waiting::Until { at, .. }) => Some(*at),
            State::Waiting(Waiting::Session { .. }) if self.base.session.is_under_way() => None,
            State::Waiting(
                Waiting::Link { since, .. }
                | Waiting::Probation { since }
                | Waiting::Session { since },
            ) => Some(*since + patience.saturating_sub(exchange.counters.waited)),
            State::Live(live) if exchange.origin.is_application() => {
                self.base.health.next_look(live.last_sign)
            }
            _ => None,
        };
        let deadline = exchange.deadline.at;
        let due = own.map_or(deadline, |own| own.min(deadline));
        self.base.cx.timers.set(Timer::Exchange(id), Some(due));
    }
}
