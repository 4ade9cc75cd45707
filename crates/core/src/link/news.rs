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
        self.calls.at(now);
        let Some(known) = self.calls.base.cx.attempts.get(attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        let credentials = known.credentials;
        self.calls.base.health.heard();
        self.calls.base.reach.answered(&mut self.calls.base.cx, attempt);
        self.run_effects();
        let Base { cx, reach, session, outbound, .. } = &mut self.calls.base;
        cx.note_secrets(&head);
        match owner {
            Owner::Abandoned { carrier, .. } => {
                cx.drain(attempt);
                session.abandoned_answered(cx, generation, carrier, head.session);
                cx.then(Effect::Close);
            }
            Owner::Delete { .. } => {
                cx.drain(attempt);
                cx.then(Effect::Close);
            }
            Owner::Dial => {}
            Owner::Exchange(id) => {
                self.calls.exchange_head(attempt, id, head);
            }
            Owner::Handshake => session.handshake_head(cx, head),
            Owner::Listener => {
                self.listening.head(&mut self.calls, attempt, &head);
            }
            Owner::Notice(id) => {
                cx.drain(attempt);
                let to = (generation, credentials);
                outbound.notice_answered(cx, id, to, &head, (reach, session));
                cx.then(OutboundEffect::FillTurns);
                cx.then(Effect::Close);
            }
        }
        self.run_effects();
    }

    /// Takes in the whole body of an answer that is no stream.
    pub fn handle_body(&mut self, now: Moment, attempt: AttemptId, body: &Bytes) {
        self.calls.at(now);
        let Some(known) = self.calls.base.cx.attempts.remove(attempt) else { return };
        match known.owner {
            Owner::Exchange(id) => {
                self.calls.exchange_body(id, attempt, Some(body));
            }
            Owner::Handshake => {
                self.calls.base.session.handshake_body(&mut self.calls.base.cx, body)
            }
            Owner::Abandoned { .. } | Owner::Delete { .. } => {
                self.calls.base.cx.then(Effect::Close)
            }
            Owner::Listener => {
                let rejected = known.credentials;
                self.listening.body(&mut self.calls, rejected, body);
            }
            Owner::Dial | Owner::Notice(_) => {}
        }
        self.run_effects();
    }

    /// Takes in an event of a stream.
    pub fn handle_event(&mut self, now: Moment, attempt: AttemptId, event: &sse::SseEvent) {
        self.calls.at(now);
        let Some(known) = self.calls.base.cx.attempts.get(attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        match owner {
            Owner::Exchange(id) => {
                self.calls.exchange_event(attempt, id, event);
            }
            Owner::Listener => {
                self.listening.event(&mut self.calls.base.cx, attempt, generation, event);
            }
            owner => self.other_event(&owner, generation, event),
        }
        self.run_effects();
    }

    /// Takes in an event of a stream that belongs neither to a call nor to the standing stream.
    fn other_event(&mut self, owner: &Owner, generation: Generation, event: &sse::SseEvent) {
        if !event.is_message() || event.data.is_empty() {
            return;
        }
        let Ok(incoming) = Incoming::parse(&event.data) else {
            return self.calls.base.cx.tell(Event::UnreadableEvent);
        };
        for message in incoming.into_messages() {
            let Base { cx, session, .. } = &mut self.calls.base;
            let is_taken = *owner == Owner::Handshake && session.handshake_heard(cx, &message);
            if !is_taken {
                cx.then(CallEffect::TakeIn(MessageSource::of_session(generation), message));
            }
            self.run_effects();
        }
    }

    /// Takes in a sign of life: a comment, or bytes that are no whole event or body yet.
    pub fn handle_bytes(&mut self, now: Moment, attempt: AttemptId) {
        self.calls.at(now);
        let owner = self.calls.base.cx.attempts.get(attempt).map(|known| &known.owner);
        if let Some(Owner::Exchange(id)) = owner {
            let id = *id;
            self.calls.heard_bytes(attempt, id);
        }
    }

    /// Takes in the regular end of a stream.
    pub fn handle_end(&mut self, now: Moment, attempt: AttemptId) {
        self.calls.at(now);
        let Some(known) = self.calls.base.cx.attempts.remove(attempt) else { return };
        let Base { cx, reach, session, .. } = &mut self.calls.base;
        match known.owner {
            Owner::Exchange(id) => self.calls.exchange_ended(id, attempt),
            Owner::Handshake => {
                session.handshake_broke(cx, reach, Failure::unknown(Cause::Closed));
            }
            Owner::Listener => self.listening.lost(cx, attempt),
            Owner::Abandoned { .. } | Owner::Delete { .. } => cx.then(Effect::Close),
            Owner::Dial | Owner::Notice(_) => {}
        }
        self.run_effects();
    }

    /// Takes in the failure of an attempt below HTTP.
    pub fn handle_failure(&mut self, now: Moment, attempt: AttemptId, failure: Failure) {
        self.calls.at(now);
        if self.is_dial(attempt) {
            return self.handle_connect(now, attempt, Err(failure));
        }
        let Some(known) = self.calls.base.cx.attempts.remove(attempt) else { return };
        // The standing stream says nothing about reaching the server, and only calls know their phase.
        let is_headless = match known.owner {
            Owner::Exchange(id) => self.calls.all.is_headless(id, attempt),
            Owner::Listener => false,
            _ => true,
        };
        self.calls.base.reach.attempt_failed(&mut self.calls.base.cx, &failure, is_headless);
        self.run_effects();
        let Base { cx, reach, session, outbound, .. } = &mut self.calls.base;
        match known.owner {
            Owner::Exchange(id) => {
                self.calls.exchange_failed(id, attempt, failure);
            }
            Owner::Handshake => session.handshake_broke(cx, reach, failure),
            Owner::Listener => self.listening.lost(cx, attempt),
            Owner::Notice(id) => {
                outbound.notice_failed(cx, id, failure, reach);
                cx.then(OutboundEffect::FillTurns);
                cx.then(Effect::Close);
            }
            Owner::Abandoned { .. } | Owner::Delete { .. } => cx.then(Effect::Close),
            Owner::Dial => {}
        }
        self.run_effects();
    }

    /// Takes in the result of a connect.
    pub fn handle_connect(&mut self, now: Moment, attempt: AttemptId, result: Result<(), Failure>) {
        self.calls.at(now);
        if !self.is_dial(attempt) {
            return;
        }
        let Base { cx, reach, .. } = &mut self.calls.base;
        cx.attempts.remove(attempt);
        reach.connect_ended(cx, result);
        self.run_effects();
    }

    fn is_dial(&self, attempt: AttemptId) -> bool {
        self.calls.base.cx.attempts.get(attempt).is_some_and(|known| known.owner == Owner::Dial)
    }

    /// Takes in how many calls the connection can carry at once, if that is less than the policy allows.
    pub fn handle_capacity(&mut self, now: Moment, calls: usize) {
        self.calls.at(now);
        self.calls.base.admission.set_capacity(calls);
        self.calls.base.cx.then(CallEffect::FillPlaces);
        self.run_effects();
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
        self.calls.at(now);
        self.calls.base.credentials.came(&mut self.calls.base.cx, rejected, renewed);
        self.run_effects();
    }

    /// Takes in the reply of the credentials hook to a demand for more scope.
    ///
    /// Credentials with more scope take the place of those in force, also after the limit. That there are none
    /// concerns only the calls that were refused for their scope.
    pub fn handle_scope(&mut self, now: Moment, brought: Result<(), NoCredentials>) {
        self.calls.at(now);
        let is_awaited = self.calls.all.await_any(Awaited::Scope);
        self.calls.base.credentials.scope_came(&mut self.calls.base.cx, brought, is_awaited);
        self.run_effects();
    }

    /// Takes in what another link of the same server says about its trouble.
    pub fn handle_peer(&mut self, now: Moment, news: PeerNews) {
        self.calls.at(now);
        self.calls.peer_told(news);
        self.run_effects();
    }

    /// Takes in that the computer slept for `gap`: the link asks at once whether the server is there, and
    /// reports the gap.
    pub fn handle_resumed_from_suspend(&mut self, now: Moment, gap: Duration) {
        self.calls.at(now);
        self.calls.base.cx.tell(Event::Suspended { gap });
        if self.closing.is_begun() {
            return;
        }
        self.listening.reopen(&mut self.calls);
        self.run_effects();
        let Base { cx, session, health, .. } = &mut self.calls.base;
        if session.ready().is_some() {
            health.ask_about_silence(cx, session);
        }
        self.run_effects();
    }

    /// Fires the timers that are due. Calling this too early or too often is harmless.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.calls.at(now);
        while let Some(timer) = self.calls.base.cx.timers.pop_due(now) {
            self.timer_fired(timer);
            self.run_effects();
        }
    }

    fn timer_fired(&mut self, timer: Timer) {
        let is_wanted = timer == Timer::Renewal && self.awaits_session();
        let Base { cx, reach, session, health, outbound, credentials, .. } = &mut self.calls.base;
        match timer {
            Timer::Abandoned => session.forget_abandoned(cx),
            Timer::Breaker => health.probe_for_breaker(cx, session),
            Timer::Close => self.finish_closing(),
            Timer::Credentials => credentials.failed(cx, &credentials::too_late()),
            Timer::Dial => reach.due(cx),
            Timer::Exchange(id) => self.calls.exchange_due(id),
            Timer::Gates => self.calls.gates_due(),
            Timer::Hints => self.calls.learning_is_due(),
            Timer::Listener => self.listening.due(&mut self.calls),
            Timer::Notice(id) => outbound.notice_due(cx, id, reach),
            Timer::Probation => self.calls.probation_due(),
            Timer::Pulse => health.pulse_due(cx, session, self.calls.all.is_any_silent(cx.now)),
            Timer::Renewal => session.renewal_due(cx, reach, is_wanted),
            Timer::Restore => session.restore_more(cx, self.calls.all.restoring()),
            Timer::Scope => {
                let is_awaited = self.calls.all.await_any(Awaited::Scope);
                credentials::scope_failed(cx, &credentials::too_late(), is_awaited);
            }
        }
    }
}
