//! The way in for news: each method brings what happened to the part that it concerns.
//!
//! News of an attempt that is not out, because it was aborted, is over or never existed, changes nothing.

use std::time::Duration;

use bytes::Bytes;
use ridethrough_wire::message::Incoming;
use ridethrough_wire::sse;

use super::{Link, NoCredentials, credentials};
use crate::event::Event;
use crate::exchange::Awaited;
use crate::failure::{Cause, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, CredentialsId, Generation};
use crate::link::attempts::Owner;
use crate::link::base::Base;
use crate::link::effects::{CallEffect, Effect, MessageSource, OutboundEffect};
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::output::PeerNews;

impl Link {
    /// Takes in the head of an answer. A stream is followed by events and an end or failure, anything else by
    /// its whole body or a failure.
    pub fn handle_head(&mut self, now: Moment, attempt: AttemptId, head: AnswerHead) {
        let Some(known) = self.base.cx.attempts.get(attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        let credentials = known.credentials;
        self.base.health.heard();
        self.base.reach.answered(&mut self.base.cx, now, attempt);
        self.run_effects(now);
        let Base { cx, reach, session, outbound, .. } = &mut self.base;
        cx.note_secrets(&head);
        match owner {
            Owner::Abandoned { carrier, .. } => {
                cx.drain(attempt);
                session.abandoned_answered(cx, now, generation, carrier, head.session);
                cx.then(Effect::Close);
            }
            Owner::Delete { .. } => {
                cx.drain(attempt);
                cx.then(Effect::Close);
            }
            Owner::Dial => {}
            Owner::Exchange(id) => {
                self.calls.exchange_head(&mut self.base, now, attempt, id, head);
            }
            Owner::Handshake => session.handshake_head(cx, now, head),
            Owner::Listener => {
                self.listening.head(&mut self.base, &mut self.calls, now, attempt, &head);
            }
            Owner::Notice(id) => {
                cx.drain(attempt);
                let to = (generation, credentials);
                outbound.notice_answered(cx, now, id, to, &head, (reach, session));
                cx.then(OutboundEffect::FillTurns);
                cx.then(Effect::Close);
            }
        }
        self.run_effects(now);
    }

    /// Takes in the whole body of an answer that is no stream.
    pub fn handle_body(&mut self, now: Moment, attempt: AttemptId, body: &Bytes) {
        let Some(known) = self.base.cx.attempts.remove(attempt) else { return };
        match known.owner {
            Owner::Exchange(id) => {
                self.calls.exchange_body(&mut self.base, now, id, attempt, Some(body));
            }
            Owner::Handshake => self.base.session.handshake_body(&mut self.base.cx, body),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.base.cx.then(Effect::Close),
            Owner::Listener => {
                let rejected = known.credentials;
                self.listening.body(&mut self.base, &mut self.calls, now, rejected, body);
            }
            Owner::Dial | Owner::Notice(_) => {}
        }
        self.run_effects(now);
    }

    /// Takes in an event of a stream.
    pub fn handle_event(&mut self, now: Moment, attempt: AttemptId, event: &sse::SseEvent) {
        let Some(known) = self.base.cx.attempts.get(attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        match owner {
            Owner::Exchange(id) => {
                self.calls.exchange_event(&mut self.base, now, attempt, id, event);
            }
            Owner::Listener => {
                self.listening.event(&mut self.base.cx, attempt, generation, event);
            }
            owner => self.other_event(now, &owner, generation, event),
        }
        self.run_effects(now);
    }

    /// Takes in an event of a stream that belongs neither to a call nor to the standing stream.
    fn other_event(
        &mut self,
        now: Moment,
        owner: &Owner,
        generation: Generation,
        event: &sse::SseEvent,
    ) {
        if !event.is_message() || event.data.is_empty() {
            return;
        }
        let Ok(incoming) = Incoming::parse(&event.data) else {
            return self.base.cx.tell(Event::UnreadableEvent);
        };
        for message in incoming.into_messages() {
            let Base { cx, session, .. } = &mut self.base;
            let is_taken = *owner == Owner::Handshake && session.handshake_heard(cx, &message);
            if !is_taken {
                cx.then(CallEffect::TakeIn(MessageSource::of_session(generation), message));
            }
            self.run_effects(now);
        }
    }

    /// Takes in a sign of life: a comment, or bytes that are no whole event or body yet.
    pub fn handle_bytes(&mut self, now: Moment, attempt: AttemptId) {
        let owner = self.base.cx.attempts.get(attempt).map(|known| &known.owner);
        if let Some(Owner::Exchange(id)) = owner {
            let id = *id;
            self.calls.heard_bytes(&mut self.base, now, attempt, id);
        }
    }

    /// Takes in the regular end of a stream.
    pub fn handle_end(&mut self, now: Moment, attempt: AttemptId) {
        let Some(known) = self.base.cx.attempts.remove(attempt) else { return };
        let Base { cx, reach, session, .. } = &mut self.base;
        match known.owner {
            Owner::Exchange(id) => self.calls.exchange_ended(&mut self.base, now, id, attempt),
            Owner::Handshake => {
                session.handshake_broke(cx, now, reach, Failure::unknown(Cause::Closed));
            }
            Owner::Listener => self.listening.lost(cx, now, attempt),
            Owner::Abandoned { .. } | Owner::Delete { .. } => cx.then(Effect::Close),
            Owner::Dial | Owner::Notice(_) => {}
        }
        self.run_effects(now);
    }

    /// Takes in the failure of an attempt below HTTP.
    pub fn handle_failure(&mut self, now: Moment, attempt: AttemptId, failure: Failure) {
        if self.is_dial(attempt) {
            return self.handle_connect(now, attempt, Err(failure));
        }
        let Some(known) = self.base.cx.attempts.remove(attempt) else { return };
        // The standing stream says nothing about reaching the server, and only calls know their phase.
        let is_headless = match known.owner {
            Owner::Exchange(id) => self.calls.is_headless(id, attempt),
            Owner::Listener => false,
            _ => true,
        };
        self.base.reach.attempt_failed(&mut self.base.cx, now, &failure, is_headless);
        self.run_effects(now);
        let Base { cx, reach, session, outbound, .. } = &mut self.base;
        match known.owner {
            Owner::Exchange(id) => {
                self.calls.exchange_failed(&mut self.base, now, id, attempt, failure);
            }
            Owner::Handshake => session.handshake_broke(cx, now, reach, failure),
            Owner::Listener => self.listening.lost(cx, now, attempt),
            Owner::Notice(id) => {
                outbound.notice_failed(cx, now, id, failure, reach);
                cx.then(OutboundEffect::FillTurns);
                cx.then(Effect::Close);
            }
            Owner::Abandoned { .. } | Owner::Delete { .. } => cx.then(Effect::Close),
            Owner::Dial => {}
        }
        self.run_effects(now);
    }

    /// Takes in the result of a connect.
    pub fn handle_connect(&mut self, now: Moment, attempt: AttemptId, result: Result<(), Failure>) {
        if !self.is_dial(attempt) {
            return;
        }
        let Base { cx, reach, .. } = &mut self.base;
        cx.attempts.remove(attempt);
        reach.connect_ended(cx, now, result);
        self.run_effects(now);
    }

    fn is_dial(&self, attempt: AttemptId) -> bool {
        self.base.cx.attempts.get(attempt).is_some_and(|known| known.owner == Owner::Dial)
    }

    /// Takes in how many calls the connection can carry at once, if that is less than the policy allows.
    pub fn handle_capacity(&mut self, now: Moment, calls: usize) {
        self.base.admission.set_capacity(calls);
        self.base.cx.then(CallEffect::FillPlaces);
        self.run_effects(now);
    }

    /// Takes in the reply of the credentials hook.
    ///
    /// `rejected` is the number that the hook was asked with; a reply about credentials that were replaced
    /// meanwhile is ignored. Better credentials than those in force are accepted at any time, also after the
    /// limit; that there are none concerns only the calls that wait.
    pub fn handle_credentials(
        &mut self,
        now: Moment,
        rejected: CredentialsId,
        renewed: Result<(), NoCredentials>,
    ) {
        self.base.credentials.came(&mut self.base.cx, now, rejected, renewed);
        self.run_effects(now);
    }

    /// Takes in the reply of the credentials hook to a demand for more scope.
    ///
    /// Credentials with more scope take the place of those in force, also after the limit. That there are none
    /// concerns only the calls that were refused for their scope.
    pub fn handle_scope(&mut self, now: Moment, brought: Result<(), NoCredentials>) {
        let is_awaited = self.calls.await_any(Awaited::Scope);
        self.base.credentials.scope_came(&mut self.base.cx, brought, is_awaited);
        self.run_effects(now);
    }

    /// Takes in what another link of the same server says about its trouble.
    pub fn handle_peer(&mut self, now: Moment, news: PeerNews) {
        self.calls.peer_told(&mut self.base, now, news);
        self.run_effects(now);
    }

    /// Takes in that the computer slept for `gap`: the link asks at once whether the server is there, and
    /// reports the gap.
    pub fn handle_resumed_from_suspend(&mut self, now: Moment, gap: Duration) {
        self.base.cx.tell(Event::Suspended { gap });
        if self.closing.is_begun() {
            return;
        }
        self.listening.reopen(&mut self.base, &mut self.calls, now);
        self.run_effects(now);
        let Base { cx, session, health, .. } = &mut self.base;
        if session.ready().is_some() {
            health.ask_about_silence(cx, session);
        }
        self.run_effects(now);
    }

    /// Fires the timers that are due. Calling this too early or too often is harmless.
    pub fn handle_timeout(&mut self, now: Moment) {
        while let Some(timer) = self.base.cx.timers.pop_due(now) {
            self.timer_fired(now, timer);
            self.run_effects(now);
        }
    }

    fn timer_fired(&mut self, now: Moment, timer: Timer) {
        let is_wanted = timer == Timer::Renewal && self.awaits_session();
        let Base { cx, reach, session, health, outbound, credentials, .. } = &mut self.base;
        match timer {
            Timer::Abandoned => session.forget_abandoned(cx, now),
            Timer::Breaker => health.probe_for_breaker(cx, session),
            Timer::Close => self.finish_closing(),
            Timer::Credentials => credentials.failed(cx, &credentials::too_late()),
            Timer::Dial => reach.due(cx, now),
            Timer::Exchange(id) => self.calls.exchange_due(&mut self.base, now, id),
            Timer::Gates => self.calls.gates_due(&mut self.base, now),
            Timer::Hints => self.calls.learning_is_due(&mut self.base, now),
            Timer::Listener => self.listening.due(&mut self.base, &mut self.calls, now),
            Timer::Notice(id) => outbound.notice_due(cx, now, id, reach),
            Timer::Probation => self.calls.probation_due(&mut self.base, now),
            Timer::Pulse => health.pulse_due(cx, session, self.calls.is_any_silent(now)),
            Timer::Renewal => session.renewal_due(cx, now, reach, is_wanted),
            Timer::Restore => session.restore_more(cx, now, self.calls.restoring()),
            Timer::Scope => {
                let is_awaited = self.calls.await_any(Awaited::Scope);
                credentials::scope_failed(cx, &credentials::too_late(), is_awaited);
            }
        }
    }
}
