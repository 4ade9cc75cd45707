//! The turnover of sessions: one begins, one is lost, one cannot be had.

use super::Link;
use super::attempts::Owner;
use super::renewal::{self, Ready, Session, Stage};
use super::timers::Timer;
use crate::era::Carrier;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, State, Then, Waiting};
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::message::Answer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Address, Verb};
use crate::session::SessionId;

impl Link {
    pub(super) fn session_is_wanted(&self) -> bool {
        self.keep_connected
            || self.pulse.askers.breaker
            || self.exchanges.values().any(|it| waits_for_session(it))
            || self.owed.values().any(|owed| owed.waits_for_session())
    }

    /// Those who wait for a session learn that they wait in vain, or when to look again.
    pub(super) fn review_session_waiters(&mut self, now: Moment) {
        for id in self.ids_where(waits_for_session) {
            self.review_session_waiter(now, id);
        }
    }

    pub(super) fn review_session_waiter(&mut self, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.exchanges.get(&id) else { return };
        match self.waits_in_vain(now, exchange) {
            Some(ending) if ending.retry_after.is_none() && self.renewal_awaits_link() => {
                self.try_once_more(now, id);
            }
            Some(ending) => self.end_waiter(now, id, ending),
            None => self.set_alarm(id),
        }
    }

    /// Ends a call; one that waited for a session has what the server said last to the handshake.
    pub(super) fn end_waiter(&mut self, now: Moment, id: ExchangeId, ending: Ending) {
        if let Session::Renewing(renewal) = &self.session
            && let Some(exchange) = self.exchanges.get_mut(&id)
            && waits_for_session(exchange)
        {
            exchange.said = renewal.said.clone().or(exchange.said.take());
        }
        self.end(now, id, ending);
    }

    /// Whether the handshake waits for a connection, like those who wait for it.
    pub(super) fn renewal_awaits_link(&self) -> bool {
        matches!(&self.session, Session::Renewing(it) if matches!(it.stage, Stage::AwaitLink))
    }

    /// Why a call that waits for a session need not wait any longer.
    fn waits_in_vain(&self, now: Moment, exchange: &Exchange) -> Option<Ending> {
        let Session::Renewing(renewal) = &self.session else { return None };
        if !waits_for_session(exchange) || renewal.is_under_way() {
            return None;
        }
        let left = self.patience().saturating_sub(exchange.waited(now));
        let end = exchange.deadline.at.min(now + left);
        if renewal.asked_until > end
            && let Reason::Status(status) = renewal.last
        {
            let kind = Kind::rejected(status);
            let wait = renewal.asked_until.since(now);
            return Some(Ending::new(kind, renewal.last.clone()).with_retry_after(wait));
        }
        left.is_zero().then(|| self.out_of_patience(exchange.id))
    }

    /// Whether the server asked not to be bothered with a handshake now.
    pub(super) fn handshake_is_deferred(&self, now: Moment) -> bool {
        matches!(&self.session, Session::Renewing(renewal)
            if !renewal.is_under_way() && renewal.asked_until > now)
    }

    /// The handshake cannot succeed: everybody who waits for it learns why.
    pub(super) fn fail_session_waiters(&mut self, now: Moment, ending: &Ending) {
        let mut said = None;
        if let Session::Renewing(renewal) = &mut self.session {
            said = renewal.said.take();
            let attempt = renewal.attempt();
            self.session = Session::Absent;
            self.timers.set(Timer::Renewal, None);
            if let Some(attempt) = attempt {
                self.abort(attempt);
            }
        }
        for id in self.ids_where(waits_for_session) {
            if let Some(exchange) = self.exchanges.get_mut(&id) {
                exchange.said = said.clone();
            }
            self.end(now, id, ending.clone());
        }
        self.drop_session_notices(now, ending);
        self.breaker_probe_failed_unsent(now);
    }

    pub(super) fn become_ready(&mut self, now: Moment, ready: Ready) {
        let generation = ready.generation();
        self.timers.set(Timer::Renewal, None);
        self.had_session = true;
        self.tell(Event::SessionReady { generation, version: ready.version });
        if self.restore.is_another_server(ready.server.as_ref()) {
            self.tell(Event::ServerChanged);
        }
        let is_guessed = self.known_era.is_guessed();
        self.session = Session::Ready(Ready { since: now, is_guessed, ..ready });
        self.listen_in_new_session(now);
        self.restore_session(now);
        for id in self.ids_where(waits_for_session) {
            let is_meant = |waiting: &Waiting| matches!(waiting, Waiting::Session { .. });
            self.let_out_if(now, id, Then::Send, is_meant);
        }
        self.release_session_notices(now);
        if self.pulse.askers.breaker {
            self.send_ping(now);
        }
    }

    /// What a stateless server said of itself, which needed no handshake.
    pub(super) fn note_server(&mut self, answer: Option<&Answer>) {
        if let (Session::Ready(ready), Some(Answer::Result(server))) = (&mut self.session, answer) {
            ready.server.get_or_insert_with(|| server.clone());
        }
    }

    /// This session is gone; a late word about an older one changes nothing.
    pub(super) fn lose_session(&mut self, now: Moment, generation: Generation) {
        let is_current = self.session.ready().is_some_and(|ready| ready.generation() == generation);
        if !is_current || !self.can_lose_session() {
            return;
        }
        let unwanted = self.guessed_in_vain();
        self.session = Session::Absent;
        self.stop_restoring();
        self.tell(Event::SessionLost { generation });
        self.stop_listener(now);
        self.withdraw_questions(|question| question.generation == generation);
        self.drop_answers(now, |asked, _| asked == generation);
        if let Some(session) = unwanted {
            self.leave_unused(now, session);
        }
        self.release_subscribers(now);
        if self.keep_connected {
            self.ensure_session(now);
        }
    }

    /// A handshake took too long. Its session may come into being after all; then it is deleted.
    pub(super) fn abandon(&mut self, now: Moment, attempt: AttemptId, carrier: Carrier) {
        let until = now + renewal::ABANDONED_LIMIT;
        if let Some(attempt) = self.attempts.get_mut(&attempt) {
            attempt.owner = Owner::Abandoned { until, carrier };
        }
        self.forget_abandoned(now);
    }

    /// An `initialize` that was given up on is answered after all.
    pub(super) fn abandoned_answered(
        &mut self,
        now: Moment,
        generation: Generation,
        carrier: Carrier,
        session: Option<SessionId>,
    ) {
        if session.is_some() {
            let to = Address { generation, session, carrier, ..Address::default() };
            self.say_goodbye(now, to);
        }
    }

    /// Deletes a session, without waiting for long.
    pub(super) fn say_goodbye(&mut self, now: Moment, to: Address) {
        let until = now + renewal::LIMIT;
        self.request(Owner::Delete { until }, Verb::Delete, to);
        self.forget_abandoned(now);
    }

    /// Stops listening to those who had time enough, and sets the alarm for the others.
    pub(super) fn forget_abandoned(&mut self, now: Moment) {
        let patience = |owner: &Owner| match owner {
            Owner::Abandoned { until, .. } | Owner::Delete { until } => Some(*until),
            _ => None,
        };
        for attempt in self.attempts_of(|owner| patience(owner).is_some_and(|until| until <= now)) {
            self.abort(attempt);
        }
        let next = self.attempts.values().filter_map(|each| patience(&each.owner)).min();
        self.timers.set(Timer::Abandoned, next);
    }
}

/// Whether a call can only go on with a session.
pub(super) fn waits_for_session(exchange: &Exchange) -> bool {
    matches!(exchange.state, State::Waiting(Waiting::Session { .. }))
}
