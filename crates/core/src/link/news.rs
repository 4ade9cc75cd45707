//! The way in for news: each method brings what happened to the part that it concerns.
//!
//! News of an attempt that is not out, because it was aborted, is over or never existed, changes nothing.

use std::time::Duration;

use bytes::Bytes;

use super::{Link, NoCredentials, credentials};
use crate::event::Event;
use crate::exchange::Exchange;
use crate::failure::{Cause, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, CredentialsId};
use crate::link::attempts::Owner;
use crate::link::timers::Timer;
use crate::message::Incoming;
use crate::moment::Moment;
use crate::sse;

impl Link {
    /// Takes in the head of an answer. A stream is followed by events and an end or failure, anything else by
    /// its whole body or a failure.
    pub fn handle_head(&mut self, now: Moment, attempt: AttemptId, head: AnswerHead) {
        let Some(known) = self.cx.attempts.get(attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        let credentials = known.credentials;
        self.note_answered(now, attempt);
        self.note_secrets(&head);
        match owner {
            Owner::Abandoned { carrier, .. } => {
                self.cx.drain(attempt);
                self.session.abandoned_answered(
                    &mut self.cx,
                    now,
                    generation,
                    carrier,
                    head.session,
                );
                self.closing_progressed(now);
            }
            Owner::Delete { .. } => {
                self.cx.drain(attempt);
                self.closing_progressed(now);
            }
            Owner::Dial => {}
            Owner::Exchange(id) => self.exchange_head(now, attempt, id, head),
            Owner::Handshake => self.handshake_head(now, head),
            Owner::Listener => self.listener_head(now, attempt, &head),
            Owner::Notice(id) => {
                self.cx.drain(attempt);
                self.notice_answered(now, id, (generation, credentials), &head);
                self.fill_turns(now);
                self.closing_progressed(now);
            }
        }
    }

    /// Takes in the whole body of an answer that is no stream.
    pub fn handle_body(&mut self, now: Moment, attempt: AttemptId, body: &Bytes) {
        let Some(known) = self.cx.attempts.remove(attempt) else { return };
        match known.owner {
            Owner::Exchange(id) => self.exchange_body(now, id, attempt, Some(body)),
            Owner::Handshake => self.handshake_body(now, body),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Listener => self.listener_body(now, known.credentials, body),
            Owner::Dial | Owner::Notice(_) => {}
        }
    }

    /// Takes in an event of a stream.
    pub fn handle_event(&mut self, now: Moment, attempt: AttemptId, event: &sse::SseEvent) {
        let Some(known) = self.cx.attempts.get(attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        match owner {
            Owner::Exchange(id) => return self.exchange_event(now, attempt, id, event),
            Owner::Listener => return self.listener_event(now, attempt, generation, event),
            _ => {}
        }
        if !event.is_message() || event.data.is_empty() {
            return;
        }
        let Ok(incoming) = Incoming::parse(&event.data) else {
            return self.cx.tell(Event::UnreadableEvent);
        };
        for message in incoming.into_messages() {
            let is_taken = match &owner {
                Owner::Handshake => self.handshake_heard(now, &message),
                _ => false,
            };
            if !is_taken {
                self.take_in_all(now, owner.clone(), generation, vec![message]);
            }
        }
    }

    /// Takes in a sign of life: a comment, or bytes that are no whole event or body yet.
    pub fn handle_bytes(&mut self, now: Moment, attempt: AttemptId) {
        let Some(Owner::Exchange(id)) = self.cx.attempts.get(attempt).map(|known| &known.owner)
        else {
            return;
        };
        let id = *id;
        if let Some(live) = self.calls.stream_of(id, attempt) {
            live.last_sign = now;
            self.set_alarm(id);
        }
    }

    /// Takes in the regular end of a stream.
    pub fn handle_end(&mut self, now: Moment, attempt: AttemptId) {
        let Some(known) = self.cx.attempts.remove(attempt) else { return };
        let closed = Failure::unknown(Cause::Closed);
        match known.owner {
            Owner::Exchange(id) if self.is_side_stream(now, id, attempt) => {}
            Owner::Exchange(id) if self.calls.is_question(id) => {
                self.question_failed(now, id, closed)
            }
            Owner::Exchange(id) => {
                self.reach.begin_outage();
                self.decide(now, id, Exchange::stream_ended);
            }
            Owner::Handshake => self.handshake_broke(now, closed),
            Owner::Listener => self.listening.listener_lost(&mut self.cx, now, attempt),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Dial | Owner::Notice(_) => {}
        }
    }

    /// Takes in the failure of an attempt below HTTP.
    pub fn handle_failure(&mut self, now: Moment, attempt: AttemptId, failure: Failure) {
        if self.cx.attempts.get(attempt).is_some_and(|it| matches!(it.owner, Owner::Dial)) {
            return self.connect_ended(now, attempt, Err(failure));
        }
        let Some(known) = self.cx.attempts.remove(attempt) else { return };
        let is_headless = match known.owner {
            Owner::Exchange(id) => self.calls.is_headless(id, attempt),
            Owner::Listener => false,
            _ => true,
        };
        self.note_transport_failure(now, &failure, is_headless);
        match known.owner {
            Owner::Exchange(id) if self.is_side_stream(now, id, attempt) => {}
            Owner::Exchange(id) => self.exchange_failed(now, id, attempt, failure),
            Owner::Handshake => self.handshake_broke(now, failure),
            Owner::Listener => self.listening.listener_lost(&mut self.cx, now, attempt),
            Owner::Notice(id) => {
                self.notice_failed(now, id, failure);
                self.fill_turns(now);
                self.closing_progressed(now);
            }
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Dial => {}
        }
    }

    /// Takes in the result of a connect.
    pub fn handle_connect(&mut self, now: Moment, attempt: AttemptId, result: Result<(), Failure>) {
        self.connect_ended(now, attempt, result);
    }

    /// Takes in how many calls the connection can carry at once, if that is less than the policy allows.
    pub fn handle_capacity(&mut self, now: Moment, calls: usize) {
        self.capacity_changed(now, calls);
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
        self.credentials_came(now, rejected, renewed);
    }

    /// Takes in the reply of the credentials hook to a demand for more scope.
    ///
    /// Credentials with more scope take the place of those in force, also after the limit. That there are none
    /// concerns only the calls that were refused for their scope.
    pub fn handle_scope(&mut self, now: Moment, brought: Result<(), NoCredentials>) {
        self.scope_came(now, brought);
    }

    /// Takes in that the computer slept for `gap`: the link asks at once whether the server is there, and
    /// reports the gap.
    pub fn handle_resumed_from_suspend(&mut self, now: Moment, gap: Duration) {
        self.woke_up(now, gap);
    }

    /// Fires the timers that are due. Calling this too early or too often is harmless.
    pub fn handle_timeout(&mut self, now: Moment) {
        while let Some(timer) = self.cx.timers.pop_due(now) {
            match timer {
                Timer::Abandoned => self.session.forget_abandoned(&mut self.cx, now),
                Timer::Breaker => self.probe_for_breaker(now),
                Timer::Close => self.finish_closing(),
                Timer::Credentials => self.credentials_failed(now, &credentials::too_late()),
                Timer::Scope => self.scope_failed(now, &credentials::too_late()),
                Timer::Dial => self.dial_due(now),
                Timer::Exchange(id) => self.exchange_due(now, id),
                Timer::Gates => self.gates_due(now),
                Timer::Listener => self.listener_due(now),
                Timer::Notice(id) => self.notice_due(now, id),
                Timer::Pulse => self.pulse_due(now),
                Timer::Renewal => self.renewal_due(now),
                Timer::Restore => self.restore_more(now),
            }
        }
    }
}
