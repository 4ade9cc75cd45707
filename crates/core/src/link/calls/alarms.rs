//! The timers of an exchange: its deadline, the end of its wait, and the next look at its silence.

use super::Calls;
use crate::exchange::{Awaited, Ending, Exchange, State, Waiting};
use crate::ids::ExchangeId;
use crate::link::base::Base;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::rule::Rule;

impl Calls {
    /// Handles an exchange whose timer fired: its deadline passed, its wait ended, or it has been silent.
    pub(crate) fn exchange_due(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.get(id) else { return };
        if now >= exchange.deadline.at {
            let gate =
                base.admission.held(&exchange.call).filter(|_| exchange.awaits(Awaited::Gate));
            let retry_after = gate.map(|(until, _)| until.since(now));
            let reason = gate.map(|(_, status)| Reason::Status(status));
            let reason = reason.unwrap_or_else(|| self.awaited(base, exchange));
            let ending = Ending::new(Kind::DeadlinePassed, reason);
            return self.end_waiter(base, now, id, Ending { retry_after, ..ending });
        }
        match exchange.state {
            State::Accepted { until } if now >= until => {
                self.decide(base, now, id, |exchange, rules| {
                    exchange.never_answered(rules, Rule::AcceptedOnly)
                });
            }
            State::Waiting(Waiting::Until { at, then }) if now >= at => {
                self.let_out(base, now, id, then)
            }
            State::Waiting(Waiting::Link { .. })
                if exchange.waited(now) >= base.reach.patience(&base.cx.policy) =>
            {
                self.try_once_more(base, now, id);
            }
            State::Waiting(Waiting::Probation { .. })
                if exchange.waited(now) >= base.reach.patience(&base.cx.policy) =>
            {
                self.end_on_probation(base, now, id);
            }
            State::Waiting(Waiting::Session { .. }) => self.review_session_waiter(base, now, id),
            State::Live(_) => {
                base.health.ask_about_silence(&mut base.cx, &base.session);
                self.set_alarm(base, id);
            }
            _ => self.set_alarm(base, id),
        }
    }

    /// Returns what a call was waiting for when its deadline passed.
    fn awaited(&self, base: &Base, exchange: &Exchange) -> Reason {
        match exchange.state {
            State::Waiting(Waiting::Credentials(_) | Waiting::Scope) => {
                Reason::Rule(Rule::AwaitedCredentials)
            }
            State::Waiting(
                Waiting::Link { .. } | Waiting::Probation { .. } | Waiting::Session { .. },
            ) => self.out_of_patience(base, exchange.id).reason,
            State::Waiting(Waiting::Acknowledgement) => {
                Reason::Rule(Rule::SubscriptionNotAcknowledged)
            }
            State::Waiting(Waiting::Input) => Reason::Rule(Rule::AwaitedInput),
            State::Waiting(Waiting::Place) => Reason::Rule(Rule::AwaitedPlace),
            _ => Reason::Nothing,
        }
    }

    /// Sets the moment at which an exchange must be looked at again.
    pub(crate) fn set_alarm(&self, base: &mut Base, id: ExchangeId) {
        let Some(exchange) = self.get(id) else { return };
        let own = match &exchange.state {
            State::Accepted { until } => Some(*until),
            State::Waiting(Waiting::Until { at, .. }) => Some(*at),
            State::Waiting(Waiting::Session { .. }) if base.session.is_under_way() => None,
            State::Waiting(
                Waiting::Link { since, .. }
                | Waiting::Probation { since }
                | Waiting::Session { since },
            ) => Some(
                *since
                    + base.reach.patience(&base.cx.policy).saturating_sub(exchange.counters.waited),
            ),
            State::Live(live) if exchange.origin.is_application() => {
                base.health.next_look(live.last_sign)
            }
            _ => None,
        };
        let deadline = exchange.deadline.at;
        base.cx
            .timers
            .set(Timer::Exchange(id), Some(own.map_or(deadline, |own| own.min(deadline))));
    }
}
