//! News for a call: heads, bodies, events and failures of its own attempts.
//!
//! This module reads what the news means, by the revision and by what else the body holds. It decides
//! nothing: what follows is up to the exchange.

use bytes::Bytes;

use super::Calls;
use crate::answer::{Asked, PostReading, ResumeReading, read_post, read_resume, read_streamed};
use crate::event::Event;
use crate::exchange::{Doubt, Novelty, Phase, Step, Via};
use crate::failure::{Delivery, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ExchangeId};
use crate::link::Link;
use crate::link::attempts::Owner;
use crate::link::outbound::Source;
use crate::message::{Answer, Incoming, Message};
use crate::moment::Moment;
use crate::sse;

impl Calls {
    /// Row 14: notes that a resume has reached the server, now at the latest. It may have waited for a
    /// connection, so the moment at which it was requested does not say how soon the next one may follow.
    pub(crate) fn note_resume(&mut self, now: Moment, id: ExchangeId, attempt: AttemptId) {
        let is_resume = self.stream_of(id, attempt).is_some_and(|live| live.via == Via::Resume);
        if is_resume && let Some(exchange) = self.get_mut(id) {
            exchange.counters.resumed_at = Some(now);
        }
    }
}

impl Link {
    pub(crate) fn exchange_head(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
        head: AnswerHead,
    ) {
        self.calls.note_resume(now, id, attempt);
        let Some(live) = self.calls.stream_of(id, attempt) else { return };
        (live.last_sign, live.connection) = (now, head.connection);
        if !head.is_stream() {
            live.phase = Phase::Body(head);
            return self.set_alarm(id);
        }
        live.phase = Phase::Stream { opened: now, heard: false, fruitful: false };
        let replaced = live.replaces.take();
        if let Some(exchange) = self.calls.get_mut(id) {
            // The server accepted the credentials. Should they expire during a long call, they may be renewed
            // again.
            exchange.counters.credentials_renewed = false;
            if replaced.is_some() {
                exchange.resume_state.stream_ended();
            }
        }
        if let Some(old) = replaced {
            self.cx.abort(old.attempt);
        }
        self.set_alarm(id);
        self.canary_returned(now, id);
    }

    /// Handles the whole body of an answer, or `None` if the body of a refusal broke off.
    pub(crate) fn exchange_body(
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
        let Some(exchange) = self.calls.get_mut(id) else { return };
        let Some(sent) = exchange.sent.clone() else { return };
        let Some(live) = exchange.live_mut() else { return };
        live.last_sign = now;
        let via = live.via;
        let Phase::Body(head) = &live.phase else { return };
        let assume_unexecuted = &self.cx.policy.assume_unexecuted;
        let asked = Asked { wire_id: sent.wire_id, carried: sent.to.carried(), assume_unexecuted };
        match via {
            Via::Post => {
                let (mut answer, head) = (read_post(head, body, asked), head.clone());
                exchange.is_named = answer.named.is_some();
                let (origin, is_asked) = (exchange.origin, exchange.counters.era_asked);
                let refusal = self.refusal_in(&head, answer.said.take());
                if let Some(exchange) = self.calls.get_mut(id) {
                    exchange.last_refusal = refusal;
                }
                let others = std::mem::take(&mut answer.others);
                self.take_in_all(now, Owner::Exchange(id), sent.generation(), others);
                if origin.question().is_some() {
                    return self.settle_by_body(now, id, head, answer.reading, answer.named);
                }
                if !is_asked && let Some(doubt) = self.session.era_doubt(&sent, &head, &answer) {
                    self.canary_returned(now, id);
                    return self.decide(now, id, |_, _| Step::Doubt(Doubt::Era(doubt)));
                }
                self.post_was_read(now, id, answer.reading, is_whole);
            }
            Via::Resume => {
                let (reading, others) = read_resume(head, body, asked);
                self.take_in_all(now, Owner::Exchange(id), sent.generation(), others);
                if matches!(reading, ResumeReading::Gone { .. }) {
                    // Row 9: if the session is gone, the other calls in it must learn that.
                    self.check_generation(now, sent.generation());
                }
                self.decide(now, id, |exchange, rules| exchange.resume_answered(rules, reading));
            }
        }
    }

    fn post_was_read(&mut self, now: Moment, id: ExchangeId, reading: PostReading, is_whole: bool) {
        match &reading {
            PostReading::Deferred { status, hint, .. } => self.close_gate(now, id, *status, *hint),
            _ => self.canary_returned(now, id),
        }
        if let PostReading::Deferred { answer, .. }
        | PostReading::NeedsScope { answer, .. }
        | PostReading::Unauthorized { answer, .. } = &reading
            && let Some(exchange) = self.calls.get_mut(id)
        {
            exchange.refused_with = answer.clone();
        }
        self.decide(now, id, |exchange, rules| {
            if is_whole {
                exchange.post_answered(rules, reading)
            } else {
                exchange.refusal_broke(rules, reading)
            }
        });
    }

    /// Row 19: handles a resume beside an old stream that was answered by a body. If that is the answer, it
    /// is taken; if not, the call goes on with the old stream. Returns false if there is no old stream.
    fn side_stream_answered(
        &mut self,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        body: &Bytes,
    ) -> bool {
        let Some(exchange) = self.calls.get(id) else { return false };
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

    pub(crate) fn exchange_failed(
        &mut self,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        failure: Failure,
    ) {
        if failure.delivery != Delivery::NotSent {
            self.calls.note_resume(now, id, attempt);
        }
        if self.calls.is_question(id) {
            return self.question_failed(now, id, failure);
        }
        let live = self.calls.stream_of(id, attempt);
        let is_refused = live.is_some_and(
            |live| matches!(&live.phase, Phase::Body(head) if !head.status.is_success()),
        );
        if is_refused {
            // The status is known; only the server's words are missing.
            return self.exchange_body(now, id, attempt, None);
        }
        self.decide(now, id, |exchange, rules| exchange.attempt_failed(rules, failure));
    }

    pub(crate) fn exchange_event(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
        event: &sse::SseEvent,
    ) {
        let Some(live) = self.calls.stream_of(id, attempt) else { return };
        live.last_sign = now;
        let Some(exchange) = self.calls.get_mut(id) else { return };
        let is_resumable = exchange.era().resumes_streams();
        if let Some(retry) = event.retry.filter(|_| is_resumable) {
            exchange.resume_state.note_retry(retry);
        }
        let is_empty = !event.is_message() || event.data.is_empty();
        let messages = if is_empty {
            Ok(Vec::new())
        } else {
            Incoming::parse(&event.data).map(Incoming::into_messages)
        };
        let Ok(messages) = messages else {
            // Row 16: the resume point stays before an event that cannot be read.
            self.set_alarm(id);
            return self.cx.tell(Event::UnreadableEvent);
        };
        let novelty = if is_resumable {
            exchange.resume_state.advance(event.id.as_ref())
        } else {
            Novelty::Fresh
        };
        self.set_alarm(id);
        self.exchange_messages(now, attempt, id, novelty, messages);
    }

    /// Hands over the messages of an event. The answer comes last, because it ends the exchange.
    fn exchange_messages(
        &mut self,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
        novelty: Novelty,
        messages: Vec<Message>,
    ) {
        let Some(exchange) = self.calls.get_mut(id) else { return };
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
        let is_call = exchange.origin.is_application();
        for message in others {
            let is_answer = matches!(message, Message::Response { .. });
            // A replayed message is dropped, unless it is an answer that another call may still wait for.
            if novelty == Novelty::Fresh || is_answer {
                let exchange = is_call.then_some(id);
                let source = Source { generation, exchange, attempt: Some(attempt) };
                self.take_in(now, source, message);
            }
        }
        if let Some(Message::Response { id: named, answer }) = ours.into_iter().next() {
            if let Some(exchange) = self.calls.get_mut(id) {
                exchange.is_named = named.is_some();
            }
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
        let Some(exchange) = self.calls.get(id) else { return };
        let is_question = exchange.origin.question().is_some();
        let carried = exchange.sent.as_ref().map(|sent| sent.to.carried());
        match carried.map(|carried| read_streamed(answer.clone(), carried, is_first)) {
            Some(reading @ PostReading::Suspected(_)) if !is_question => {
                self.cx.drain(attempt);
                self.decide(now, id, |exchange, rules| exchange.post_answered(rules, reading));
            }
            _ => self.answered(now, id, answer, Some(attempt)),
        }
    }

    /// Row 19: whether the attempt that is over was one of two streams of the call, which goes on with the
    /// other.
    pub(crate) fn is_side_stream(
        &mut self,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
    ) -> bool {
        let Some(exchange) = self.calls.get_mut(id) else { return false };
        let is_side = exchange.lose_side_stream(now, attempt);
        if is_side {
            self.set_alarm(id);
        }
        is_side
    }
}
