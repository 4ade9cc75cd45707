//! News from the world: each names the attempt it belongs to, and finds its owner here.
//!
//! News of an attempt that is not outstanding, because it was aborted, is over, or never was,
//! changes nothing.

use bytes::Bytes;

use super::Link;
use crate::event::Event;
use crate::exchange::Exchange;
use crate::failure::{Cause, Failure};
use crate::head::AnswerHead;
use crate::ids::AttemptId;
use crate::link::attempts::Owner;
use crate::message::Incoming;
use crate::moment::Moment;
use crate::sse;

impl Link {
    /// The head of an answer arrived. A stream is followed by events and an end or failure,
    /// anything else by its whole body or a failure.
    pub fn handle_head(&mut self, now: Moment, attempt: AttemptId, head: AnswerHead) {
        let Some(known) = self.attempts.get(attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        let credentials = known.credentials;
        self.note_answered(now, attempt);
        self.note_secrets(&head);
        match owner {
            Owner::Abandoned { carrier, .. } => {
                self.drain(attempt);
                self.abandoned_answered(now, generation, carrier, head.session);
                self.closing_progressed(now);
            }
            Owner::Delete { .. } => {
                self.drain(attempt);
                self.closing_progressed(now);
            }
            Owner::Dial => {}
            Owner::Exchange(id) => self.exchange_head(now, attempt, id, head),
            Owner::Handshake => self.handshake_head(now, head),
            Owner::Listener => self.listener_head(now, attempt, &head),
            Owner::Notice(id) => {
                self.drain(attempt);
                self.notice_answered(now, id, (generation, credentials), &head);
                self.fill_turns(now);
                self.closing_progressed(now);
            }
        }
    }

    /// The whole body of an answer that is no stream arrived.
    pub fn handle_body(&mut self, now: Moment, attempt: AttemptId, body: &Bytes) {
        let Some(known) = self.attempts.remove(attempt) else { return };
        match known.owner {
            Owner::Exchange(id) => self.exchange_body(now, id, attempt, Some(body)),
            Owner::Handshake => self.handshake_body(now, body),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Listener => self.listener_body(now, known.credentials, body),
            Owner::Dial | Owner::Notice(_) => {}
        }
    }

    /// An event arrived on a stream.
    pub fn handle_event(&mut self, now: Moment, attempt: AttemptId, event: &sse::Event) {
        let Some(known) = self.attempts.get(attempt) else { return };
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
            return self.tell(Event::UnreadableEvent);
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

    /// Bytes arrived that are no whole event or body yet, or a comment: a sign of life.
    pub fn handle_bytes(&mut self, now: Moment, attempt: AttemptId) {
        let Some(Owner::Exchange(id)) = self.attempts.get(attempt).map(|known| &known.owner) else {
            return;
        };
        let id = *id;
        if let Some(live) = self.stream_of(id, attempt) {
            live.last_sign = now;
            self.set_alarm(id);
        }
    }

    /// A stream ended as HTTP says that it should.
    pub fn handle_end(&mut self, now: Moment, attempt: AttemptId) {
        let Some(known) = self.attempts.remove(attempt) else { return };
        let closed = Failure::unknown(Cause::Closed);
        match known.owner {
            Owner::Exchange(id) if self.is_side_stream(now, id, attempt) => {}
            Owner::Exchange(id) if self.is_question(id) => self.question_failed(now, id, closed),
            Owner::Exchange(id) => {
                self.begin_outage();
                self.decide(now, id, Exchange::stream_ended);
            }
            Owner::Handshake => self.handshake_broke(now, closed),
            Owner::Listener => self.listener_lost(now, attempt),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Dial | Owner::Notice(_) => {}
        }
    }

    /// An attempt failed below HTTP.
    pub fn handle_failure(&mut self, now: Moment, attempt: AttemptId, failure: Failure) {
        if self.attempts.get(attempt).is_some_and(|it| matches!(it.owner, Owner::Dial)) {
            return self.handle_connect(now, attempt, Err(failure));
        }
        let Some(known) = self.attempts.remove(attempt) else { return };
        let is_headless = match known.owner {
            Owner::Exchange(id) => self.is_headless(id, attempt),
            Owner::Listener => false,
            _ => true,
        };
        self.note_transport_failure(now, &failure, is_headless);
        match known.owner {
            Owner::Exchange(id) if self.is_side_stream(now, id, attempt) => {}
            Owner::Exchange(id) => self.exchange_failed(now, id, attempt, failure),
            Owner::Handshake => self.handshake_broke(now, failure),
            Owner::Listener => self.listener_lost(now, attempt),
            Owner::Notice(id) => {
                self.notice_failed(now, id, failure);
                self.fill_turns(now);
                self.closing_progressed(now);
            }
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Dial => {}
        }
    }
}
