//! Calls that wait together, and what becomes of them when what they wait for comes, fails, or takes too long.

use std::time::Duration;

use super::Calls;
use crate::exchange::{Awaited, Ending, Exchange, LastRefusal, State, Then, Waiting};
use crate::ids::ExchangeId;
use crate::link::effects::{CallEffect, ReachEffect};
use crate::link::timers::Timer;
use crate::outcome::{Kind, Reason};

impl Calls {
    /// Lets out all calls that wait for this.
    pub(super) fn let_out_all(&mut self, awaited: Awaited) {
        for id in self.all.ids_where(|exchange| exchange.awaits(awaited)) {
            self.base.cx.then(CallEffect::LetOutIf(id, awaited));
        }
    }

    /// Ends all calls that wait for this.
    pub(super) fn end_all(&mut self, awaited: Awaited, ending: &Ending) {
        for id in self.all.ids_where(|exchange| exchange.awaits(awaited)) {
            self.base.cx.then(CallEffect::End(id, ending.clone()));
        }
    }

    /// Lets out the next calls that wait for a connection.
    pub(super) fn let_out_group(&mut self, group: usize) {
        let waiting = self.all.iter().filter_map(|exchange| match exchange.state {
            State::Waiting(Waiting::Link { then, .. }) => Some((exchange.id, then)),
            _ => None,
        });
        let waiters: Vec<_> = waiting.collect();
        if waiters.len() <= group {
            self.base.reach.ramp_done();
        }
        for (id, then) in waiters.into_iter().take(group) {
            self.base.cx.then(CallEffect::LetOutRamped(id, then));
        }
    }

    /// Lets out a call whose turn in the ramp has come. A call that was let out before this one may have found
    /// the server gone again.
    pub(super) fn let_out_ramped(&mut self, id: ExchangeId, then: Then) {
        if self.base.reach.lets_control_out() {
            self.let_out_connected(id, then)
        } else {
            self.let_out(id, then)
        }
    }

    /// Gives a call that is out of patience one last connect. An outage that ended during the last pause of
    /// the connect loop was shorter than the call's patience. The call ends if that connect takes longer than
    /// `LAST_TRY`.
    pub(super) fn try_once_more(&mut self, id: ExchangeId) {
        let now = self.base.cx.now;
        let Some(exchange) = self.all.get(id) else { return };
        let patience = self.base.reach.patience(&self.base.cx.policy);
        let left = (patience + LAST_TRY).saturating_sub(exchange.waited(now));
        // A call that begins to wait without any patience left has had its last connect.
        let has_tried = exchange.counters.waited >= patience;
        if has_tried || left.is_zero() {
            return self.end_impatient_call(id);
        }
        let until = exchange.deadline.at.min(now + left);
        self.base.cx.timers.set(Timer::Exchange(id), Some(until));
        self.base.reach.hurry(now);
        self.base.cx.then(ReachEffect::Drive);
    }

    /// Ends the calls that are out of patience, after a failed connect.
    pub(super) fn end_impatient(&mut self) {
        let patience = self.base.reach.patience(&self.base.cx.policy);
        let awaits_link = self.base.session.awaits_link();
        let impatient = self.all.ids_where(|exchange| {
            let waits = match exchange.state {
                State::Waiting(Waiting::Link { .. }) => true,
                State::Waiting(Waiting::Session { .. }) => awaits_link,
                _ => false,
            };
            waits && exchange.waited(self.base.cx.now) >= patience
        });
        for id in impatient {
            self.base.cx.then(CallEffect::EndImpatientCall(id));
        }
    }

    pub(super) fn end_impatient_call(&mut self, id: ExchangeId) {
        let ending = self.out_of_patience(id);
        self.end_waiter(id, ending);
    }

    /// Returns the ending of a call that is out of patience.
    pub(super) fn out_of_patience(&self, id: ExchangeId) -> Ending {
        let waits_for_session = self.all.get(id).is_some_and(|it| it.awaits(Awaited::Session));
        let kind = if waits_for_session && self.base.session.had_session() {
            Kind::SessionLost
        } else {
            Kind::Unreachable
        };
        let last = self.base.cx.last_failure().map(|(_, reason)| reason);
        let reason = self.base.session.last_refusal().or(last);
        Ending::new(kind, reason.cloned().unwrap_or(Reason::Nothing))
    }

    /// Ends the calls that wait for a session in vain, and sets the timers of the others.
    pub(super) fn review_session_waiters(&mut self) {
        for id in self.all.ids_where(|exchange| exchange.awaits(Awaited::Session)) {
            self.base.cx.then(CallEffect::ReviewSessionWaiter(id));
        }
    }

    /// Ends a call if it waits for a session in vain, or sets its timer.
    pub(super) fn review_session_waiter(&mut self, id: ExchangeId) {
        let Some(exchange) = self.all.get(id) else { return };
        match self.waits_in_vain(exchange) {
            Some(ending) if ending.retry_after.is_none() && self.base.session.awaits_link() => {
                self.try_once_more(id);
            }
            Some(ending) => self.end_waiter(id, ending),
            None => self.set_alarm(id),
        }
    }

    /// Ends all calls that wait for a handshake that cannot succeed.
    pub(super) fn end_session_waiters(&mut self, ending: &Ending, refusal: Option<&LastRefusal>) {
        for id in self.all.ids_where(|exchange| exchange.awaits(Awaited::Session)) {
            let (ending, refusal) = (ending.clone(), refusal.cloned());
            self.base.cx.then(CallEffect::EndSessionWaiter(id, ending, refusal));
        }
    }

    /// Ends a call that waited for a session, and names the refusal of the handshake.
    pub(super) fn end_session_waiter(
        &mut self,
        id: ExchangeId,
        ending: Ending,
        refusal: Option<LastRefusal>,
    ) {
        if let Some(exchange) = self.all.get_mut(id) {
            exchange.last_refusal = refusal;
        }
        self.end(id, ending);
    }

    /// Ends a call. One that waited for a session reports how the server last refused the handshake.
    pub(super) fn end_waiter(&mut self, id: ExchangeId, ending: Ending) {
        if let Some(refusal) = self.base.session.refused_handshake()
            && let Some(exchange) = self.all.get_mut(id)
            && exchange.awaits(Awaited::Session)
        {
            exchange.last_refusal = Some(refusal.clone());
        }
        self.end(id, ending);
    }

    /// Returns why a call need not wait for a session any longer, if so.
    fn waits_in_vain(&self, exchange: &Exchange) -> Option<Ending> {
        let now = self.base.cx.now;
        let (asked_until, last) = self.base.session.asked_until()?;
        if !exchange.awaits(Awaited::Session) {
            return None;
        }
        let patience = self.base.reach.patience(&self.base.cx.policy);
        let left = patience.saturating_sub(exchange.waited(now));
        let end = exchange.deadline.at.min(now + left);
        if asked_until > end
            && let Reason::Status(status) = last
        {
            let ending = Ending::new(Kind::rejected(*status), last.clone());
            return Some(ending.with_retry_after(asked_until.since(now)));
        }
        left.is_zero().then(|| self.out_of_patience(exchange.id))
    }
}

/// How long a call waits for its last connect.
const LAST_TRY: Duration = Duration::from_secs(2);
