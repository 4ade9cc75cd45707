//! The turnover of sessions: a session begins, is lost, or cannot be had.

use super::Sessions;
use super::renewal::{self, Opening, Ready, Session, Stage};
use crate::era::Carrier;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, State, Then, Waiting};
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::link::attempts::{NewRequest, Owner};
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::link::{HANDSHAKE_LIMIT, Link};
use crate::message::Answer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Address, Verb};
use crate::session::SessionId;

impl Sessions {
    /// Keeps the description of a stateless server, which `connect` brought without a handshake.
    pub(crate) fn note_server(&mut self, answer: Option<&Answer>) {
        if let (Session::Ready(ready), Some(Answer::Result(server))) = (&mut self.state, answer) {
            ready.server.get_or_insert_with(|| server.clone());
        }
    }

    /// Aborts abandoned handshakes and deletions whose time is up, and sets the timer for the others.
    pub(crate) fn forget_abandoned(&mut self, cx: &mut Context, now: Moment) {
        let patience = |owner: &Owner| match owner {
            Owner::Abandoned { until, .. } | Owner::Delete { until } => Some(*until),
            _ => None,
        };
        for attempt in
            cx.attempts.ids_where(|owner| patience(owner).is_some_and(|until| until <= now))
        {
            cx.abort(attempt);
        }
        let next = cx.attempts.iter().filter_map(|each| patience(&each.owner)).min();
        cx.timers.set(Timer::Abandoned, next);
    }

    /// Abandons a handshake that took too long. If the server makes a session after all, that session is
    /// deleted.
    pub(crate) fn abandon(
        &mut self,
        cx: &mut Context,
        now: Moment,
        attempt: AttemptId,
        carrier: Carrier,
    ) {
        let until = now + renewal::ABANDONED_LIMIT;
        cx.attempts.give_to(attempt, Owner::Abandoned { until, carrier });
        self.forget_abandoned(cx, now);
    }

    /// Ends the session in force and returns its address, if it must be deleted.
    pub(crate) fn end_session(&mut self, cx: &mut Context, now: Moment) -> Option<Address> {
        let ready = match std::mem::replace(&mut self.state, Session::Absent) {
            Session::Absent => return None,
            Session::Ready(ready) => ready,
            Session::Renewing(renewal) => match renewal.stage {
                Stage::Initialized { ready, .. } => ready,
                // The server may still make the session while the link closes. Then it is deleted, too.
                Stage::Opening(Opening { attempt, opens, .. }) => {
                    self.abandon(cx, now, attempt, opens.carrier());
                    return None;
                }
                _ => return None,
            },
        };
        Some(ready.address).filter(|to| to.session.is_some())
    }

    /// Deletes the session of an abandoned `initialize` that was answered after all.
    pub(crate) fn abandoned_answered(
        &mut self,
        cx: &mut Context,
        now: Moment,
        generation: Generation,
        carrier: Carrier,
        session: Option<SessionId>,
    ) {
        if session.is_some() {
            let to = Address { generation, session, carrier, ..Address::default() };
            self.say_goodbye(cx, now, to);
        }
    }

    /// Deletes a session, without waiting for the answer for long.
    pub(crate) fn say_goodbye(&mut self, cx: &mut Context, now: Moment, to: Address) {
        let until = now + HANDSHAKE_LIMIT;
        cx.send(NewRequest::new(Owner::Delete { until }, Verb::Delete, to));
        self.forget_abandoned(cx, now);
    }
}

impl Link {
    pub(crate) fn session_is_wanted(&self) -> bool {
        self.reach.keeps_connected()
            || self.health.is_probing()
            || self.calls.iter().any(waits_for_session)
            || self.outbound.awaits_session()
    }

    /// Ends the calls that wait for a session in vain, and sets the timers of the others.
    pub(crate) fn review_session_waiters(&mut self, now: Moment) {
        for id in self.calls.ids_where(waits_for_session) {
            self.review_session_waiter(now, id);
        }
    }

    pub(crate) fn review_session_waiter(&mut self, now: Moment, id: ExchangeId) {
        let Some(exchange) = self.calls.get(id) else { return };
        match self.waits_in_vain(now, exchange) {
            Some(ending) if ending.retry_after.is_none() && self.session.awaits_link() => {
                self.try_once_more(now, id);
            }
            Some(ending) => self.end_waiter(now, id, ending),
            None => self.set_alarm(id),
        }
    }

    /// Ends a call. One that waited for a session reports how the server last refused the handshake.
    pub(crate) fn end_waiter(&mut self, now: Moment, id: ExchangeId, ending: Ending) {
        if let Session::Renewing(renewal) = &self.session.state
            && let Some(exchange) = self.calls.get_mut(id)
            && waits_for_session(exchange)
        {
            exchange.last_refusal = renewal.last_refusal.clone().or(exchange.last_refusal.take());
        }
        self.end(now, id, ending);
    }

    /// Returns why a call need not wait for a session any longer, if so.
    fn waits_in_vain(&self, now: Moment, exchange: &Exchange) -> Option<Ending> {
        let Session::Renewing(renewal) = &self.session.state else { return None };
        if !waits_for_session(exchange) || renewal.is_under_way() {
            return None;
        }
        let left = self.reach.patience(&self.cx.policy).saturating_sub(exchange.waited(now));
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

    /// Ends all calls that wait for a handshake that cannot succeed.
    pub(crate) fn fail_session_waiters(&mut self, now: Moment, ending: &Ending) {
        let mut refusal = None;
        if let Session::Renewing(renewal) = &mut self.session.state {
            refusal = renewal.last_refusal.take();
            let attempt = renewal.attempt();
            self.session.state = Session::Absent;
            self.cx.timers.set(Timer::Renewal, None);
            if let Some(attempt) = attempt {
                self.cx.abort(attempt);
            }
        }
        for id in self.calls.ids_where(waits_for_session) {
            if let Some(exchange) = self.calls.get_mut(id) {
                exchange.last_refusal = refusal.clone();
            }
            self.end(now, id, ending.clone());
        }
        self.outbound.drop_session_notices(&mut self.cx, now, ending);
        self.breaker_probe_failed_unsent(now);
    }

    pub(crate) fn become_ready(&mut self, now: Moment, ready: Ready) {
        let generation = ready.generation();
        self.cx.timers.set(Timer::Renewal, None);
        self.session.had_session = true;
        self.cx.tell(Event::SessionReady { generation, version: ready.version });
        if self.session.restore.is_another_server(ready.server.as_ref()) {
            self.cx.tell(Event::ServerChanged);
        }
        let is_guessed = self.session.era.is_guessed();
        self.session.state = Session::Ready(Ready { since: now, is_guessed, ..ready });
        self.listen_in_new_session(now);
        self.restore_session(now);
        for id in self.calls.ids_where(waits_for_session) {
            let is_meant = |waiting: &Waiting| matches!(waiting, Waiting::Session { .. });
            self.let_out_if(now, id, Then::Send, is_meant);
        }
        self.release_session_notices(now);
        if self.health.is_probing() {
            self.send_ping(now);
        }
    }

    /// Gives up this session. News about an older session changes nothing.
    pub(crate) fn lose_session(&mut self, now: Moment, generation: Generation) {
        let is_current = self.session.ready().is_some_and(|ready| ready.generation() == generation);
        if !is_current || !self.session.can_lose_session() {
            return;
        }
        let unwanted = self.guessed_in_vain();
        self.session.state = Session::Absent;
        self.stop_restoring();
        self.cx.tell(Event::SessionLost { generation });
        self.listening.stop_listener(&mut self.cx, now);
        self.outbound
            .withdraw_questions(&mut self.cx, |question| question.generation == generation);
        self.outbound.drop_answers(&mut self.cx, now, |asked, _| asked == generation);
        if let Some(session) = unwanted {
            self.session.leave_unused(&mut self.cx, now, session);
        }
        self.release_subscribers(now);
        if self.reach.keeps_connected() {
            self.ensure_session(now);
        }
    }
}

/// Whether a call waits for a session.
pub(crate) fn waits_for_session(exchange: &Exchange) -> bool {
    matches!(exchange.state, State::Waiting(Waiting::Session { .. }))
}
