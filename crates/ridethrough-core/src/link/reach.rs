//! Acting on what is believed about reaching the server.

use std::time::Duration;

use super::attempts::Owner;
use super::dial::State as Reach;
use super::renewal::Session;
use super::timers::Timer;
use super::{Link, breaker};
use crate::breaker::Incident;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, State, Then, Waiting};
use crate::failure::{Cause, Delivery, Failure};
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::Action;

impl Link {
    /// The connect loop has come back with a connection, or without.
    pub fn handle_connect(&mut self, now: Moment, attempt: AttemptId, result: Result<(), Failure>) {
        if !self.attempts.get(&attempt).is_some_and(|known| known.owner == Owner::Dial) {
            return;
        }
        self.attempts.remove(&attempt);
        match result {
            Ok(()) => {
                self.dial.connected(now);
                self.hurry_listener(now);
                self.resume_renewal(now);
                self.dial_due(now);
            }
            Err(failure) if failure.cause.is_lasting(self.dial.connected_before()) => {
                self.dial.gave_up();
                self.note_failure(now, Reason::Transport(failure.clone()));
                self.fail_unreachable(now, &failure);
            }
            Err(failure) => {
                let next = self.dial.failed(now, &mut self.dice);
                self.begin_outage();
                self.note_failure(now, Reason::Transport(failure.clone()));
                self.tell(Event::ConnectFailed { failure, next });
                self.breaker_probe_failed_unsent(now);
                self.end_impatient(now);
                self.drive_dial(now);
            }
        }
    }

    /// What a failed attempt says about reaching the server.
    pub(super) fn note_transport_failure(
        &mut self,
        now: Moment,
        failure: &Failure,
        is_headless: bool,
    ) {
        if failure.cause.is_misbehaviour() || failure.cause == Cause::ConnectionGone {
            return;
        }
        self.begin_outage();
        let is_unsent = failure.delivery == Delivery::NotSent;
        if is_unsent && failure.cause.is_lasting(self.dial.connected_before()) {
            return;
        }
        // A fresh connection that carried no response counts as a failed connect.
        if is_unsent || (is_headless && !self.dial.is_proven()) {
            self.dial.lost(now, self.ids.attempt, &mut self.dice);
            self.drive_dial(now);
        }
    }

    /// A response head arrived: the server is there.
    pub(super) fn note_answered(&mut self, now: Moment, attempt: AttemptId) {
        self.in_outage = false;
        self.pulse.heard();
        if let Some(outage) = self.dial.answered(now, attempt) {
            self.tell(Event::Connected { outage });
            self.hurry_listener(now);
            self.resume_renewal(now);
            self.dial_due(now);
        }
    }

    pub(super) fn begin_outage(&mut self) {
        if !self.in_outage {
            self.in_outage = true;
            self.outages += 1;
        }
    }

    /// Dials if somebody waits and the pause is over, or sets the alarm for it.
    pub(super) fn drive_dial(&mut self, now: Moment) {
        if self.closing.is_begun() {
            return;
        }
        let alarm = match self.dial.state() {
            Reach::Pausing { until } if self.somebody_waits() => {
                if until <= now {
                    let attempt = self.new_attempt(Owner::Dial, Generation::default());
                    self.dial.dialing(attempt);
                    self.act(Action::Dial { attempt });
                    None
                } else {
                    Some(until)
                }
            }
            Reach::Ramping { next, .. } => Some(next),
            Reach::Pausing { .. } | Reach::Dialing { .. } | Reach::Up => None,
        };
        self.timers.set(Timer::Dial, alarm);
    }

    /// A pause is over, or the next group of the ramp may go.
    pub(super) fn dial_due(&mut self, now: Moment) {
        if let Some(group) = self.dial.next_group(now) {
            let waiters = self.link_waiters();
            if waiters.len() <= group {
                self.dial.ramp_done();
            }
            for (id, then) in waiters.into_iter().take(group) {
                // A call that was let out before this one may have found the server gone again.
                match self.dial.is_connected() {
                    true => self.let_out_connected(now, id, then),
                    false => self.let_out(now, id, then),
                }
            }
            self.release_link_notices(now);
        }
        self.drive_dial(now);
    }

    fn link_waiters(&self) -> Vec<(ExchangeId, Then)> {
        let waiting = self.exchanges.values().filter_map(|exchange| match exchange.state {
            State::Waiting(Waiting::Link { then, .. }) => Some((exchange.id, then)),
            _ => None,
        });
        waiting.collect()
    }

    pub(super) fn somebody_waits(&self) -> bool {
        let waits = |exchange: &Exchange| {
            matches!(exchange.state, State::Waiting(Waiting::Link { .. } | Waiting::Session { .. }))
        };
        self.keep_connected
            || self.breaker.state() == breaker::State::Probing
            || self.exchanges.values().any(|it| waits(it))
            || self.owed.values().any(|owed| owed.waits_for_link() || owed.waits_for_session())
    }

    /// Row 1p: waiting cannot help anybody.
    pub(super) fn fail_unreachable(&mut self, now: Moment, failure: &Failure) {
        let reason = Reason::Transport(failure.clone());
        for (id, _) in self.link_waiters() {
            self.end(now, id, Ending::new(Kind::Unreachable, reason.clone()));
        }
        let ending = Ending::new(Kind::Unreachable, reason);
        self.drop_link_notices(now, &ending);
        self.fail_session_waiters(now, &ending);
    }

    /// Whether this call has waited for a connection or a session for as long as it may.
    pub(super) fn is_impatient(&self, now: Moment, exchange: &Exchange) -> bool {
        exchange.waited(now) >= self.patience()
    }

    /// A call has waited for a connection long enough. An outage that ended in the last pause of the connect
    /// loop was shorter than its patience, so that one more connect decides; if that takes too long, time
    /// does.
    pub(super) fn try_once_more(&mut self, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.exchanges.get(&id) else { return };
        let left = (self.patience() + LAST_TRY).saturating_sub(exchange.waited(now));
        // Whoever comes to wait without any patience left has had its last connect.
        let has_tried = exchange.ledger.waited >= self.patience();
        if has_tried || left.is_zero() {
            let ending = self.out_of_patience(id);
            return self.end_waiter(now, id, ending);
        }
        let until = exchange.deadline.at.min(now + left);
        self.timers.set(Timer::Exchange(id), Some(until));
        self.dial.hurry(now);
        self.drive_dial(now);
    }

    /// A connect failed: whoever has waited long enough waits no longer.
    fn end_impatient(&mut self, now: Moment) {
        let awaits_link = self.renewal_awaits_link();
        let impatient = self.ids_where(|exchange| match exchange.state {
            State::Waiting(Waiting::Link { .. }) => self.is_impatient(now, exchange),
            State::Waiting(Waiting::Session { .. }) => {
                awaits_link && self.is_impatient(now, exchange)
            }
            _ => false,
        });
        for id in impatient {
            let ending = self.out_of_patience(id);
            self.end_waiter(now, id, ending);
        }
    }

    /// How long a call may wait for a connection or a session, in all.
    pub(super) fn patience(&self) -> Duration {
        match self.dial.connected_before() {
            true => self.policy.patience,
            false => self.policy.first_patience,
        }
    }

    /// What a call that has waited long enough is told.
    pub(super) fn out_of_patience(&self, id: ExchangeId) -> Ending {
        let state = self.exchanges.get(&id).map(|exchange| &exchange.state);
        let waits_for_session = matches!(state, Some(State::Waiting(Waiting::Session { .. })));
        let kind = match waits_for_session && self.had_session {
            true => Kind::SessionLost,
            false => Kind::Unreachable,
        };
        let last = match &self.session {
            Session::Renewing(renewal) if renewal.last != Reason::Nothing => {
                Some(renewal.last.clone())
            }
            _ => self.last_failure.as_ref().map(|(_, reason)| reason.clone()),
        };
        Ending::new(kind, last.unwrap_or(Reason::Nothing))
    }

    /// The server can be reached again: a handshake that waited for that goes on.
    fn resume_renewal(&mut self, now: Moment) {
        if self.renewal_awaits_link() {
            self.try_handshake(now);
        }
    }

    pub(super) fn note_failure(&mut self, now: Moment, reason: Reason) {
        self.last_failure = Some((now, reason));
    }

    /// A call ended for a transport reason.
    pub(super) fn strike(&mut self, now: Moment, incident: Incident) {
        if self.breaker.strike(now, incident, &mut self.dice) {
            self.breaker_opened();
        }
    }

    pub(super) fn breaker_opened(&mut self) {
        if let breaker::State::Open { until } = self.breaker.state() {
            self.tell(Event::BreakerOpened { until });
            self.timers.set(Timer::Breaker, Some(until));
        }
    }
}

/// How long a call waits for its last connect.
const LAST_TRY: Duration = Duration::from_secs(2);
