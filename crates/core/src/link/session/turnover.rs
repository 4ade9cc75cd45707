//! The turnover of sessions: a session begins, is lost, or cannot be had.

use ridethrough_wire::era::{Carrier, Version};
use ridethrough_wire::message::{Answer, Json};

use super::Sessions;
use super::renewal::{self, Opening, Ready, Session, Stage};
use crate::event::Event;
use crate::exchange::{Awaited, Ending};
use crate::ids::{AttemptId, Generation};
use crate::link::HANDSHAKE_LIMIT;
use crate::link::attempts::{NewRequest, Owner};
use crate::link::context::Context;
use crate::link::effects::{
    CallEffect, Effect, HealthEffect, ListeningEffect, OutboundEffect, SessionEffect,
};
use crate::link::timers::Timer;
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
    pub(crate) fn forget_abandoned(&mut self, cx: &mut Context) {
        let patience = |owner: &Owner| match owner {
            Owner::Abandoned { until, .. } | Owner::Delete { until } => Some(*until),
            _ => None,
        };
        for attempt in
            cx.attempts.ids_where(|owner| patience(owner).is_some_and(|until| until <= cx.now))
        {
            cx.abort(attempt);
        }
        let next = cx.attempts.iter().filter_map(|each| patience(&each.owner)).min();
        cx.timers.set(Timer::Abandoned, next);
    }

    /// Abandons a handshake that took too long. If the server makes a session after all, that session is
    /// deleted.
    pub(crate) fn abandon(&mut self, cx: &mut Context, attempt: AttemptId, carrier: Carrier) {
        let until = cx.now + renewal::ABANDONED_LIMIT;
        cx.attempts.give_to(attempt, Owner::Abandoned { until, carrier });
        self.forget_abandoned(cx);
    }

    /// Ends the session in force and returns its address, if it must be deleted.
    pub(crate) fn end_session(&mut self, cx: &mut Context) -> Option<Address> {
        let ready = match std::mem::replace(&mut self.state, Session::Absent) {
            Session::Absent => return None,
            Session::Ready(ready) => ready,
            Session::Renewing(renewal) => match renewal.stage {
                Stage::Initialized { ready, .. } => ready,
                // The server may still make the session while the link closes. Then it is deleted, too.
                Stage::Opening(Opening { attempt, opens, .. }) => {
                    self.abandon(cx, attempt, opens.carrier());
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
        generation: Generation,
        carrier: Carrier,
        session: Option<SessionId>,
    ) {
        if session.is_some() {
            let to = Address { generation, session, carrier, ..Address::default() };
            self.say_goodbye(cx, to);
        }
    }

    /// Deletes a session, without waiting for the answer for long.
    pub(crate) fn say_goodbye(&mut self, cx: &mut Context, to: Address) {
        let until = cx.now + HANDSHAKE_LIMIT;
        cx.send(NewRequest::new(Owner::Delete { until }, Verb::Delete, to));
        self.forget_abandoned(cx);
    }

    /// Gives up a handshake that cannot succeed, and ends all that waits for it.
    pub(crate) fn fail(&mut self, cx: &mut Context, ending: Ending) {
        let mut refusal = None;
        if let Session::Renewing(renewal) = &mut self.state {
            refusal = renewal.last_refusal.take();
            let attempt = renewal.attempt();
            self.state = Session::Absent;
            cx.timers.set(Timer::Renewal, None);
            if let Some(attempt) = attempt {
                cx.abort(attempt);
            }
        }
        cx.then(CallEffect::EndSessionWaiters(ending.clone(), refusal));
        cx.then(OutboundEffect::SessionFailed(ending));
        cx.then(HealthEffect::ProbeNotSent);
    }

    /// Begins a session, and lets out all that waits for it.
    pub(super) fn become_ready(&mut self, cx: &mut Context, ready: Ready) {
        let now = cx.now;
        let generation = ready.generation();
        cx.timers.set(Timer::Renewal, None);
        self.had_session = true;
        cx.tell(Event::SessionReady { generation, version: ready.version });
        if self.restore.is_another_server(ready.server.as_ref()) {
            cx.tell(Event::ServerChanged);
        }
        let is_guessed = self.era.is_guessed();
        self.state = Session::Ready(Ready { since: now, is_guessed, ..ready });
        cx.then(CallEffect::SessionMade);
        cx.then(ListeningEffect::SessionBegan);
        cx.then(SessionEffect::Restore);
        cx.then(CallEffect::LetOutAll(Awaited::Session));
        cx.then(CallEffect::LearnHints);
        cx.then(OutboundEffect::SessionCame);
        cx.then(HealthEffect::SessionCame);
    }

    /// Goes on without sessions, with a server that has changed its era.
    pub(crate) fn begin_stateless(&mut self, cx: &mut Context, version: Version, server: Json) {
        let generation = self.next_generation();
        let address = Address { generation, ..Address::default() };
        self.become_ready(cx, Ready::new(version, address, Some(server)));
    }

    /// Gives up this session. News about an older session changes nothing.
    pub(crate) fn lose(&mut self, cx: &mut Context, generation: Generation) {
        if self.current_generation() != Some(generation) || !self.can_lose_session() {
            return;
        }
        let unwanted = self.guessed_in_vain(cx);
        self.state = Session::Absent;
        self.stop_restoring(cx);
        cx.then(Effect::Tell(Event::SessionLost { generation }));
        cx.then(ListeningEffect::Stop);
        cx.then(OutboundEffect::SessionLost(generation));
        if let Some(session) = unwanted {
            cx.then(SessionEffect::LeaveUnused(session));
        }
        cx.then(CallEffect::LetOutAll(Awaited::Acknowledgement));
        cx.then(SessionEffect::EnsureIfKept);
    }
}
