//! The turnover of sessions: one begins, one is lost, one cannot be had.

use super::Link;
use super::attempts::Owner;
use super::renewal::{Ready, Session};
use super::timers::Timer;
use crate::event::Event;
use crate::exchange::{Ending, Exchange, State, Then, Waiting};
use crate::ids::Generation;
use crate::moment::Moment;
use crate::output::{Address, Verb};
use crate::session::SessionId;

impl Link {
    pub(super) fn session_is_wanted(&self) -> bool {
        self.keep_connected
            || self.pulse.askers.breaker
            || self.exchanges.values().any(waits_for_session)
            || self.owed.values().any(|owed| owed.waits_for_session())
    }

    /// The handshake cannot succeed: everybody who waits for it learns why.
    pub(super) fn fail_session_waiters(&mut self, now: Moment, ending: &Ending) {
        if let Session::Renewing(renewal) = &self.session {
            let attempt = renewal.attempt();
            self.session = Session::Absent;
            self.timers.set(Timer::Renewal, None);
            if let Some(attempt) = attempt {
                self.abort(attempt);
            }
        }
        for id in self.ids_where(waits_for_session) {
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
            // Another server may mean other tools: what the old ones said of themselves is void.
            self.tools.forget();
            self.tell(Event::ServerChanged);
        }
        self.session = Session::Ready(ready);
        self.listen_in_new_session(now);
        self.restore_session(now);
        for id in self.ids_where(waits_for_session) {
            self.let_out(now, id, Then::Send);
        }
        self.release_session_notices(now);
        if self.pulse.askers.breaker {
            self.send_ping(now);
        }
    }

    /// This session is gone; a late word about an older one changes nothing.
    pub(super) fn lose_session(&mut self, now: Moment, generation: Generation) {
        let is_current = self.session.ready().is_some_and(|ready| ready.generation() == generation);
        if !is_current || !self.era.has_sessions() {
            return;
        }
        self.session = Session::Absent;
        self.tell(Event::SessionLost { generation });
        self.stop_listener();
        self.withdraw_questions(|question| question.generation == generation);
        self.drop_answers(now, |asked, _| asked == generation);
        if self.keep_connected {
            self.ensure_session(now);
        }
    }

    /// An `initialize` that was given up on is answered after all: its session is deleted.
    pub(super) fn abandoned_answered(
        &mut self,
        generation: Generation,
        session: Option<SessionId>,
    ) {
        if session.is_some() {
            let to = Address { generation, session, ..Address::default() };
            self.request(Owner::Delete, Verb::Delete, to);
        }
    }

    pub(super) fn forget_abandoned(&mut self) {
        let is_abandoned = |owner: &Owner| matches!(owner, Owner::Abandoned);
        let old: Vec<_> = self
            .attempts
            .iter()
            .filter(|(_, each)| is_abandoned(&each.owner))
            .map(|(attempt, _)| *attempt)
            .collect();
        old.into_iter().for_each(|attempt| self.abort(attempt));
    }
}

/// Whether a call can only go on with a session.
pub(super) fn waits_for_session(exchange: &Exchange) -> bool {
    matches!(exchange.state, State::Waiting(Waiting::Session { .. }))
}
