//! Calls that wait together, and what becomes of them when what they wait for comes, fails, or takes too long.

use std::time::Duration;

use super::Calls;
use crate::exchange::{Awaited, Ending, Exchange, LastRefusal, State, Then, Waiting};
use crate::ids::ExchangeId;
use crate::link::base::Base;
use crate::link::effects::{CallEffect, ReachEffect};
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};

impl Calls {
    /// Whether a call waits for this.
    pub(crate) fn await_any(&self, awaited: Awaited) -> bool {
        self.iter().any(|exchange| exchange.awaits(awaited))
    }

    /// Lets out all calls that wait for this.
    pub(super) fn let_out_all(&self, base: &mut Base, awaited: Awaited) {
        for id in self.ids_where(|exchange| exchange.awaits(awaited)) {
            base.cx.then(CallEffect::LetOutIf(id, awaited));
        }
    }

    /// Ends all calls that wait for this.
    pub(super) fn end_all(&self, base: &mut Base, awaited: Awaited, ending: &Ending) {
        for id in self.ids_where(|exchange| exchange.awaits(awaited)) {
            base.cx.then(CallEffect::End(id, ending.clone()));
        }
    }

    /// Lets out the next calls that wait for a connection.
    pub(super) fn let_out_group(&self, base: &mut Base, group: usize) {
        let waiting = self.iter().filter_map(|exchange| match exchange.state {
            State::Waiting(Waiting::Link { then, .. }) => Some((exchange.id, then)),
            _ => None,
        });
        let waiters: Vec<_> = waiting.collect();
        if waiters.len() <= group {
            base.reach.ramp_done();
        }
        for (id, then) in waiters.into_iter().take(group) {
            base.cx.then(CallEffect::LetOutRamped(id, then));
        }
    }

    /// Lets out a call whose turn in the ramp has come. A call that was let out before this one may have found
    /// the server gone again.
    pub(super) fn let_out_ramped(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        then: Then,
    ) {
        if base.reach.lets_control_out() {
            self.let_out_connected(base, now, id, then)
        } else {
            self.let_out(base, now, id, then)
        }
    }

    /// Gives a call that is out of patience one last connect. An outage that ended during the last pause of
    /// the connect loop was shorter than the call's patience. The call ends if that connect takes longer than
    /// `LAST_TRY`.
    pub(super) fn try_once_more(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.get(id) else { return };
        let patience = base.reach.patience(&base.cx.policy);
        let left = (patience + LAST_TRY).saturating_sub(exchange.waited(now));
        // A call that begins to wait without any patience left has had its last connect.
        let has_tried = exchange.counters.waited >= patience;
        if has_tried || left.is_zero() {
            return self.end_impatient_call(base, now, id);
        }
        let until = exchange.deadline.at.min(now + left);
        base.cx.timers.set(Timer::Exchange(id), Some(until));
        base.reach.hurry(now);
        base.cx.then(ReachEffect::Drive);
    }

    /// Ends the calls that are out of patience, after a failed connect.
    pub(super) fn end_impatient(&self, base: &mut Base, now: Moment) {
        let patience = base.reach.patience(&base.cx.policy);
        let awaits_link = base.session.awaits_link();
        let impatient = self.ids_where(|exchange| {
            let waits = match exchange.state {
                State::Waiting(Waiting::Link { .. }) => true,
                State::Waiting(Waiting::Session { .. }) => awaits_link,
                _ => false,
            };
            waits && exchange.waited(now) >= patience
        });
        for id in impatient {
            base.cx.then(CallEffect::EndImpatientCall(id));
        }
    }

    pub(super) fn end_impatient_call(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let ending = self.out_of_patience(base, id);
        self.end_waiter(base, now, id, ending);
    }

    /// Returns the ending of a call that is out of patience.
    pub(super) fn out_of_patience(&self, base: &Base, id: ExchangeId) -> Ending {
        let waits_for_session = self.get(id).is_some_and(|it| it.awaits(Awaited::Session));
        let kind = if waits_for_session && base.session.had_session() {
            Kind::SessionLost
        } else {
            Kind::Unreachable
        };
        let last = base.cx.last_failure().map(|(_, reason)| reason);
        let reason = base.session.last_refusal().or(last);
        Ending::new(kind, reason.cloned().unwrap_or(Reason::Nothing))
    }

    /// Ends the calls that wait for a session in vain, and sets the timers of the others.
    pub(super) fn review_session_waiters(&self, base: &mut Base) {
        for id in self.ids_where(|exchange| exchange.awaits(Awaited::Session)) {
            base.cx.then(CallEffect::ReviewSessionWaiter(id));
        }
    }

    /// Ends a call if it waits for a session in vain, or sets its timer.
    pub(super) fn review_session_waiter(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.get(id) else { return };
        match self.waits_in_vain(base, now, exchange) {
            Some(ending) if ending.retry_after.is_none() && base.session.awaits_link() => {
                self.try_once_more(base, now, id);
            }
            Some(ending) => self.end_waiter(base, now, id, ending),
            None => self.set_alarm(base, id),
        }
    }

    /// Ends all calls that wait for a handshake that cannot succeed.
    pub(super) fn end_session_waiters(
        &self,
        base: &mut Base,
        ending: &Ending,
        refusal: Option<&LastRefusal>,
    ) {
        for id in self.ids_where(|exchange| exchange.awaits(Awaited::Session)) {
            let (ending, refusal) = (ending.clone(), refusal.cloned());
            base.cx.then(CallEffect::EndSessionWaiter(id, ending, refusal));
        }
    }

    /// Ends a call that waited for a session, and names the refusal of the handshake.
    pub(super) fn end_session_waiter(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        ending: Ending,
        refusal: Option<LastRefusal>,
    ) {
        if let Some(exchange) = self.get_mut(id) {
            exchange.last_refusal = refusal;
        }
        self.end(base, now, id, ending);
    }

    /// Ends a call. One that waited for a session reports how the server last refused the handshake.
    pub(super) fn end_waiter(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        ending: Ending,
    ) {
        if let Some(refusal) = base.session.refused_handshake()
            && let Some(exchange) = self.get_mut(id)
            && exchange.awaits(Awaited::Session)
        {
            exchange.last_refusal = Some(refusal.clone());
        }
        self.end(base, now, id, ending);
    }

    /// Returns why a call need not wait for a session any longer, if so.
    fn waits_in_vain(&self, base: &Base, now: Moment, exchange: &Exchange) -> Option<Ending> {
        let (asked_until, last) = base.session.asked_until()?;
        if !exchange.awaits(Awaited::Session) {
            return None;
        }
        let patience = base.reach.patience(&base.cx.policy);
        let left = patience.saturating_sub(exchange.waited(now));
        let end = exchange.deadline.at.min(now + left);
        if asked_until > end
            && let Reason::Status(status) = last
        {
            let ending = Ending::new(Kind::rejected(*status), last.clone());
            return Some(ending.with_retry_after(asked_until.since(now)));
        }
        left.is_zero().then(|| self.out_of_patience(base, exchange.id))
    }
}

/// How long a call waits for its last connect.
const LAST_TRY: Duration = Duration::from_secs(2);
