//! What the link does when the server is lost or can be reached again.

use std::time::Duration;

use super::Reach;
use super::dial::DialState;
use crate::breaker;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, State, Then, Waiting};
use crate::failure::{Cause, Delivery, Failure};
use crate::ids::{AttemptId, ExchangeId};
use crate::link::Link;
use crate::link::attempts::Owner;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};

impl Reach {
    pub(crate) fn begin_outage(&mut self) {
        if !self.in_outage {
            self.in_outage = true;
            self.outages += 1;
        }
    }
}

impl Link {
    /// Handles the result of a connect.
    pub(crate) fn connect_ended(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        result: Result<(), Failure>,
    ) {
        if !self.cx.attempts.get(attempt).is_some_and(|known| known.owner == Owner::Dial) {
            return;
        }
        self.cx.attempts.remove(attempt);
        match result {
            Ok(()) => {
                self.reach.dial.connected(now);
                self.listening.hurry_listener(&mut self.cx, now);
                self.resume_renewal(now);
                self.dial_due(now);
            }
            Err(failure) if failure.cause.is_lasting(self.reach.dial.connected_before()) => {
                self.reach.dial.gave_up();
                self.reach.note_failure(now, Reason::Transport(failure.clone()));
                self.fail_unreachable(now, &failure);
            }
            Err(failure) => {
                let next = self.reach.dial.failed(now, &mut self.cx.rng);
                self.reach.begin_outage();
                self.reach.note_failure(now, Reason::Transport(failure.clone()));
                self.cx.tell(Event::ConnectFailed { failure, next });
                self.breaker_probe_failed_unsent(now);
                self.end_impatient(now);
                self.drive_dial(now);
            }
        }
    }

    /// Notes what a failed attempt says about reaching the server.
    pub(crate) fn note_transport_failure(
        &mut self,
        now: Moment,
        failure: &Failure,
        is_headless: bool,
    ) {
        if failure.cause.is_misbehaviour() || failure.cause == Cause::ConnectionGone {
            return;
        }
        self.reach.begin_outage();
        let is_unsent = failure.delivery == Delivery::NotSent;
        if is_unsent && failure.cause.is_lasting(self.reach.dial.connected_before()) {
            return;
        }
        // A fresh connection that carried no response counts as a failed connect.
        if is_unsent || (is_headless && !self.reach.dial.is_proven()) {
            self.reach.dial.lost(now, self.cx.attempts.last(), &mut self.cx.rng);
            self.drive_dial(now);
        }
    }

    /// Notes a response head, which shows that the server can be reached.
    pub(crate) fn note_answered(&mut self, now: Moment, attempt: AttemptId) {
        self.reach.in_outage = false;
        self.health.heard();
        if let Some(outage) = self.reach.dial.answered(now, attempt) {
            self.cx.tell(Event::Connected { outage });
            self.listening.hurry_listener(&mut self.cx, now);
            self.resume_renewal(now);
            self.dial_due(now);
        }
    }

    /// Dials if something waits and the pause is over, or sets the timer for it.
    pub(crate) fn drive_dial(&mut self, now: Moment) {
        if self.closing.is_begun() {
            return;
        }
        let alarm = match self.reach.dial.state() {
            DialState::Pausing { until } if self.somebody_waits() => {
                if until <= now {
                    self.reach.dial.dialing(self.cx.dial());
                    None
                } else {
                    Some(until)
                }
            }
            DialState::Ramping { next, .. } => Some(next),
            DialState::Pausing { .. } | DialState::Dialing { .. } | DialState::Up => None,
        };
        self.cx.timers.set(Timer::Dial, alarm);
    }

    /// Handles the end of a pause, or the next group of the ramp.
    pub(crate) fn dial_due(&mut self, now: Moment) {
        if let Some(group) = self.reach.dial.next_group(now) {
            let waiters = self.link_waiters();
            if waiters.len() <= group {
                self.reach.dial.ramp_done();
            }
            for (id, then) in waiters.into_iter().take(group) {
                // A call that was let out before this one may have found the server gone again.
                if self.reach.dial.is_connected() {
                    self.let_out_connected(now, id, then)
                } else {
                    self.let_out(now, id, then)
                }
            }
            self.release_link_notices(now);
        }
        self.drive_dial(now);
    }

    fn link_waiters(&self) -> Vec<(ExchangeId, Then)> {
        let waiting = self.calls.iter().filter_map(|exchange| match exchange.state {
            State::Waiting(Waiting::Link { then, .. }) => Some((exchange.id, then)),
            _ => None,
        });
        waiting.collect()
    }

    pub(crate) fn somebody_waits(&self) -> bool {
        let waits = |exchange: &Exchange| {
            matches!(exchange.state, State::Waiting(Waiting::Link { .. } | Waiting::Session { .. }))
        };
        self.reach.keeps_connected
            || self.health.breaker() == breaker::BreakerState::Probing
            || self.calls.iter().any(waits)
            || self.outbound.awaits_link()
    }

    /// Row 1p: ends everything that waits for a connection, because waiting cannot help.
    pub(crate) fn fail_unreachable(&mut self, now: Moment, failure: &Failure) {
        let reason = Reason::Transport(failure.clone());
        for (id, _) in self.link_waiters() {
            self.end(now, id, Ending::new(Kind::Unreachable, reason.clone()));
        }
        let ending = Ending::new(Kind::Unreachable, reason);
        self.outbound.drop_link_notices(&mut self.cx, now, &ending);
        self.fail_session_waiters(now, &ending);
    }

    /// Gives a call that is out of patience one last connect. An outage that ended during the last pause of
    /// the connect loop was shorter than the call's patience. The call ends if that connect takes longer than
    /// `LAST_TRY`.
    pub(crate) fn try_once_more(&mut self, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.calls.get(id) else { return };
        let left =
            (self.reach.patience(&self.cx.policy) + LAST_TRY).saturating_sub(exchange.waited(now));
        // A call that begins to wait without any patience left has had its last connect.
        let has_tried = exchange.counters.waited >= self.reach.patience(&self.cx.policy);
        if has_tried || left.is_zero() {
            let ending = self.out_of_patience(id);
            return self.end_waiter(now, id, ending);
        }
        let until = exchange.deadline.at.min(now + left);
        self.cx.timers.set(Timer::Exchange(id), Some(until));
        self.reach.dial.hurry(now);
        self.drive_dial(now);
    }

    /// Ends the calls that are out of patience, after a failed connect.
    fn end_impatient(&mut self, now: Moment) {
        let awaits_link = self.session.awaits_link();
        let impatient = self.calls.ids_where(|exchange| match exchange.state {
            State::Waiting(Waiting::Link { .. }) => {
                exchange.waited(now) >= self.reach.patience(&self.cx.policy)
            }
            State::Waiting(Waiting::Session { .. }) => {
                awaits_link && exchange.waited(now) >= self.reach.patience(&self.cx.policy)
            }
            _ => false,
        });
        for id in impatient {
            let ending = self.out_of_patience(id);
            self.end_waiter(now, id, ending);
        }
    }

    /// Returns the ending of a call that is out of patience.
    pub(crate) fn out_of_patience(&self, id: ExchangeId) -> Ending {
        let state = self.calls.get(id).map(|exchange| &exchange.state);
        let waits_for_session = matches!(state, Some(State::Waiting(Waiting::Session { .. })));
        let kind = if waits_for_session && self.session.had_session() {
            Kind::SessionLost
        } else {
            Kind::Unreachable
        };
        let last = self.reach.last_failure().map(|(_, reason)| reason);
        let reason = self.session.last_refusal().or(last);
        Ending::new(kind, reason.cloned().unwrap_or(Reason::Nothing))
    }

    /// Continues a handshake that waited for the server to be reached.
    fn resume_renewal(&mut self, now: Moment) {
        if self.session.awaits_link() {
            self.try_handshake(now);
        }
    }
}

/// How long a call waits for its last connect.
const LAST_TRY: Duration = Duration::from_secs(2);
