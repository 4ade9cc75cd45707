//! News from the world: each names the attempt it belongs to, and finds its owner here.
//!
//! News of an attempt that is not outstanding, because it was aborted, is over, or never was,
//! changes nothing.

use bytes::Bytes;

use super::Link;
use super::attempts::Owner;
use super::inbox::Source;
use crate::event::Event;
use crate::exchange::{
    Asked, Exchange, Novelty, Phase, PostReading, ResumeReading, Via, read_post, read_resume,
};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ExchangeId};
use crate::message::{Answer, Incoming, Message};
use crate::moment::Moment;
use crate::session::names_a_lost_session;
use crate::sse;

impl Link {
    /// The head of an answer arrived. A stream is followed by events and an end or failure,
    /// anything else by its whole body or a failure.
    pub fn handle_head(&mut self, now: Moment, attempt: AttemptId, head: AnswerHead) {
        let Some(known) = self.attempts.get(&attempt) else { return };
        let (owner, generation) = (known.owner.clone(), known.generation);
        let credentials = known.credentials;
        self.note_answered(now, attempt);
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
                self.owed_answered(now, id, (generation, credentials), &head);
                self.closing_progressed(now);
            }
            Owner::Pulse => self.pulse_head(head),
            Owner::Restore { call, .. } => {
                if !head.status.is_success() {
                    self.drain(attempt);
                    self.restore_failed(call);
                }
            }
            Owner::Tools => {}
        }
    }

    /// The whole body of an answer that is no stream arrived.
    pub fn handle_body(&mut self, now: Moment, attempt: AttemptId, body: &Bytes) {
        let Some(known) = self.attempts.remove(&attempt) else { return };
        match known.owner {
            Owner::Exchange(id) => self.exchange_body(now, id, attempt, Some(body)),
            Owner::Handshake => self.handshake_body(now, body),
            Owner::Pulse => self.pulse_body(now, body),
            Owner::Restore { call, .. } => {
                let messages = Incoming::parse(body).map(Incoming::into_messages);
                let is_error = |message: &Message| {
                    matches!(message, Message::Response { answer: Answer::Error(_), .. })
                };
                if messages.is_ok_and(|messages| messages.iter().any(is_error)) {
                    self.restore_failed(call);
                }
            }
            Owner::Tools => self.tools_body(now, body),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Listener => self.listener_body(now, known.credentials, body),
            Owner::Dial | Owner::Notice(_) => {}
        }
    }

    /// An event arrived on a stream.
    pub fn handle_event(&mut self, now: Moment, attempt: AttemptId, event: &sse::Event) {
        let Some(known) = self.attempts.get(&attempt) else { return };
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
                Owner::Pulse => self.ping_heard(now, &message),
                Owner::Tools => self.tools_heard(now, &message),
                Owner::Restore { call, wire_id } => {
                    self.restore_heard(attempt, call, *wire_id, &message)
                }
                _ => false,
            };
            if !is_taken {
                self.take_in_all(now, owner.clone(), generation, vec![message]);
            }
        }
    }

    /// Bytes arrived that are no whole event or body yet, or a comment: a sign of life.
    pub fn handle_bytes(&mut self, now: Moment, attempt: AttemptId) {
        let Some(Owner::Exchange(id)) = self.attempts.get(&attempt).map(|known| &known.owner)
        else {
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
        let Some(known) = self.attempts.remove(&attempt) else { return };
        let closed = Failure::unknown(Cause::Closed);
        match known.owner {
            Owner::Exchange(id) if self.is_side_stream(now, id, attempt) => {}
            Owner::Exchange(id) => {
                self.begin_outage();
                self.decide(now, id, Exchange::stream_ended);
            }
            Owner::Handshake => self.handshake_broke(now, closed),
            Owner::Listener => self.listener_lost(now, attempt),
            Owner::Pulse => self.ping_failed(now, &closed),
            Owner::Restore { call, .. } => self.restore_failed(call),
            Owner::Tools => self.tools_broke(now),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Dial | Owner::Notice(_) => {}
        }
    }

    /// An attempt failed below HTTP.
    pub fn handle_failure(&mut self, now: Moment, attempt: AttemptId, failure: Failure) {
        if self.attempts.get(&attempt).is_some_and(|it| matches!(it.owner, Owner::Dial)) {
            return self.handle_connect(now, attempt, Err(failure));
        }
        let Some(known) = self.attempts.remove(&attempt) else { return };
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
                self.owed_failed(now, id, failure);
                self.closing_progressed(now);
            }
            Owner::Pulse => self.ping_failed(now, &failure),
            Owner::Restore { call, .. } => self.restore_failed(call),
            Owner::Tools => self.tools_broke(now),
            Owner::Abandoned { .. } | Owner::Delete { .. } => self.closing_progressed(now),
            Owner::Dial => {}
        }
    }

    fn exchange_head(&mut self, now: Moment, attempt: AttemptId, id: ExchangeId, head: AnswerHead) {
        self.note_resume(now, id, attempt);
        let Some(live) = self.stream_of(id, attempt) else { return };
        live.last_sign = now;
        if !head.is_stream() {
            live.phase = Phase::Body(head);
            return self.set_alarm(id);
        }
        live.phase = Phase::Stream { opened: now, heard: false, fruitful: false };
        let replaced = live.replaces.take();
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            // The credentials were good: should they expire under a long call, that is a new story.
            exchange.ledger.credentials_renewed = false;
            if replaced.is_some() {
                exchange.trail.stream_ended();
            }
        }
        if let Some(old) = replaced {
            self.abort(old.attempt);
        }
        self.set_alarm(id);
        self.canary_returned(now, id);
    }

    /// Row 14: an attempt arrived no later than now. It may have stood in line for a connection, so that
    /// when it was asked for says nothing about how soon the next one may follow it.
    fn note_resume(&mut self, now: Moment, id: ExchangeId, attempt: AttemptId) {
        let is_resume = self.stream_of(id, attempt).is_some_and(|live| live.via == Via::Resume);
        if is_resume && let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.ledger.resumed_at = Some(now);
        }
    }

    /// The whole body of an answer, or none if it is a refusal whose body broke off.
    fn exchange_body(
        &mut self,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        body: Option<&Bytes>,
    ) {
        let (is_whole, body) = (body.is_some(), &body.cloned().unwrap_or_default());
        if self.side_stream_answered(now, id, attempt, body) {
            return;
        }
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        let Some(sent) = exchange.sent.clone() else { return };
        let Some(live) = exchange.live_mut() else { return };
        live.last_sign = now;
        let via = live.via;
        let Phase::Body(head) = &live.phase else { return };
        let assume_unexecuted = &self.policy.assume_unexecuted;
        let asked = Asked { wire_id: sent.wire_id, carried: sent.to.carried(), assume_unexecuted };
        match via {
            Via::Post => {
                let (answer, head) = (read_post(head, body, asked), head.clone());
                let is_renewed = exchange.ledger.session_renewed;
                self.take_in_all(now, Owner::Exchange(id), sent.generation(), answer.others);
                let reading = self.read_by_era(&sent, &head, answer.reading, is_renewed);
                match &reading {
                    PostReading::Deferred { status, hint } => {
                        self.close_gate(now, id, *status, *hint);
                    }
                    _ => self.canary_returned(now, id),
                }
                self.decide(now, id, |exchange, rules| match is_whole {
                    true => exchange.post_answered(rules, reading),
                    false => exchange.refusal_broke(rules, reading),
                });
            }
            Via::Resume => {
                let (reading, others) = read_resume(head, body, asked);
                self.take_in_all(now, Owner::Exchange(id), sent.generation(), others);
                if matches!(reading, ResumeReading::Gone { .. }) {
                    // Row 9: if it is the session that is gone, the others should know.
                    self.check_generation(now, sent.generation());
                }
                self.decide(now, id, |exchange, rules| exchange.resume_answered(rules, reading));
            }
        }
    }

    /// Row 19: a resume beside an old stream was answered by a body. If that is the answer, it is
    /// taken; if not, the call goes on with the old stream. Returns false if there is none.
    fn side_stream_answered(
        &mut self,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        body: &Bytes,
    ) -> bool {
        let Some(exchange) = self.exchanges.get(&id) else { return false };
        let Some((live, sent)) = exchange.live().zip(exchange.sent.as_ref()) else { return false };
        let Phase::Body(head) = &live.phase else { return false };
        if live.attempt != attempt || live.replaces.is_none() {
            return false;
        }
        let generation = sent.generation();
        let asked =
            Asked { wire_id: sent.wire_id, carried: sent.to.carried(), assume_unexecuted: &[] };
        let (reading, others) = read_resume(head, body, asked);
        self.is_side_stream(now, id, attempt);
        self.take_in_all(now, Owner::Exchange(id), generation, others);
        match reading {
            ResumeReading::Answer(answer) => self.finish(now, id, Ok(answer), None),
            ResumeReading::Gone { .. } => self.check_generation(now, generation),
            _ => {}
        }
        true
    }

    fn exchange_failed(
        &mut self,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        failure: Failure,
    ) {
        if failure.delivery != Delivery::NotSent {
            self.note_resume(now, id, attempt);
        }
        let live = self.stream_of(id, attempt);
        let is_refused = live.is_some_and(
            |live| matches!(&live.phase, Phase::Body(head) if !head.status.is_success()),
        );
        if is_refused {
            // The status is known; only the words are missing.
            return self.exchange_body(now, id, attempt, None);
        }
        self.decide(now, id, |exchange, rules| exchange.attempt_failed(rules, failure));
    }

    fn exchange_event(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
        event: &sse::Event,
    ) {
        let Some(live) = self.stream_of(id, attempt) else { return };
        live.last_sign = now;
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        let is_resumable = exchange.era().resumes_streams();
        if let Some(retry) = event.retry.filter(|_| is_resumable) {
            exchange.trail.note_retry(retry);
        }
        let is_empty = !event.is_message() || event.data.is_empty();
        let messages = if is_empty {
            Ok(Vec::new())
        } else {
            Incoming::parse(&event.data).map(Incoming::into_messages)
        };
        let Ok(messages) = messages else {
            // Row 16: the resume point stays before it.
            self.set_alarm(id);
            return self.tell(Event::UnreadableEvent);
        };
        let novelty = match is_resumable {
            true => exchange.trail.advance(event.id.as_ref()),
            false => Novelty::Fresh,
        };
        self.set_alarm(id);
        self.exchange_messages(now, attempt, id, novelty, messages);
    }

    /// Hands over what an event carried; the answer comes last, because nothing follows it.
    fn exchange_messages(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
        novelty: Novelty,
        messages: Vec<Message>,
    ) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        let Some(sent) = exchange.sent.as_ref() else { return };
        let (wire_id, generation) = (sent.wire_id, sent.generation());
        let is_ours = |message: &Message| match message {
            Message::Response { id: Some(id), .. } => id.number() == Some(wire_id),
            Message::Response { id: None, answer } => matches!(answer, Answer::Error(_)),
            _ => false,
        };
        if messages.is_empty() {
            return;
        }
        let (ours, others): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_ours);
        let is_news = others.iter().any(|message| !matches!(message, Message::Response { .. }));
        let is_first = exchange.heard(attempt, novelty, is_news) && others.is_empty();
        for message in others {
            let is_answer = matches!(message, Message::Response { .. });
            // A replay is dropped, but never an answer that somebody may still wait for.
            if novelty == Novelty::Fresh || is_answer {
                let source = Source { generation, exchange: Some(id), attempt: Some(attempt) };
                self.take_in(now, source, message);
            }
        }
        if let Some(Message::Response { answer, .. }) = ours.into_iter().next() {
            self.exchange_answered(now, attempt, id, answer, is_first);
        }
    }

    fn exchange_answered(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
        answer: Answer,
        is_first: bool,
    ) {
        let words = answer.error().map(|error| error.message).unwrap_or_default();
        let has_session = self.exchanges.get(&id).is_some_and(|it| it.era().has_sessions());
        let is_suspect = is_first && has_session && names_a_lost_session(&words);
        if !is_suspect {
            return self.answered(now, id, answer, Some(attempt));
        }
        self.drain(attempt);
        let reading = PostReading::Suspected(answer);
        self.decide(now, id, |exchange, rules| exchange.post_answered(rules, reading));
    }

    /// Row 19: of two streams, one is over; the call goes on with the other.
    fn is_side_stream(&mut self, now: Moment, id: ExchangeId, attempt: AttemptId) -> bool {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return false };
        let is_side = exchange.lose_side_stream(now, attempt);
        if is_side {
            self.set_alarm(id);
        }
        is_side
    }
}
