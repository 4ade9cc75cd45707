//! News for a call on one of its streams: events, and the messages and the answer in them.

use ridethrough_wire::message::{Answer, Incoming, Message};
use ridethrough_wire::sse;

use super::Calls;
use crate::answer::{PostReading, read_streamed};
use crate::event::Event;
use crate::exchange::{Exchange, Novelty, Sent};
use crate::ids::{AttemptId, ExchangeId};
use crate::link::effects::{CallEffect, MessageSource, StreamAnswer};

impl Calls {
    /// Handles an event.
    pub(crate) fn exchange_event(
        &mut self,
        attempt: AttemptId,
        id: ExchangeId,
        event: &sse::SseEvent,
    ) {
        let Some(live) = self.all.stream_of(id, attempt) else { return };
        live.last_sign = self.base.cx.now;
        let Some(exchange) = self.all.get_mut(id) else { return };
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
            return self.base.cx.tell(Event::UnreadableEvent);
        };
        let novelty = if is_resumable {
            exchange.resume_state.advance(event.id.as_ref())
        } else {
            Novelty::Fresh
        };
        self.set_alarm(id);
        self.exchange_messages(attempt, id, novelty, messages);
    }

    /// Hands over the messages of an event. The answer comes last, because it ends the exchange.
    fn exchange_messages(
        &mut self,
        attempt: AttemptId,
        id: ExchangeId,
        novelty: Novelty,
        messages: Vec<Message>,
    ) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let Some(sent) = exchange.sent.as_ref() else { return };
        let wire_id = sent.wire_id;
        let source = source_of(exchange, Some(attempt));
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
            // A replayed message is dropped, unless it is an answer that another call may still wait for.
            if novelty == Novelty::Fresh || is_answer {
                if self.base.cx.has_asked() {
                    self.base.cx.then(CallEffect::TakeIn(source, message));
                } else {
                    self.take_in(source, message);
                }
            }
        }
        if let Some(Message::Response { id: named, answer }) = ours.into_iter().next() {
            if let Some(exchange) = self.all.get_mut(id) {
                exchange.is_named = named.is_some();
            }
            let answer = StreamAnswer { attempt, answer, is_first };
            if self.base.cx.has_asked() {
                self.base.cx.then(CallEffect::Answered(id, Box::new(answer)));
            } else {
                self.stream_answered(id, answer);
            }
        }
    }

    /// Handles the answer that came on a stream of a call.
    pub(super) fn stream_answered(&mut self, id: ExchangeId, answer: StreamAnswer) {
        let StreamAnswer { attempt, answer, is_first } = answer;
        let Some(exchange) = self.all.get(id) else { return };
        let is_question = exchange.origin.question().is_some();
        let carried = exchange.sent.as_ref().map(|sent| sent.to.carried());
        match carried.map(|carried| read_streamed(answer.clone(), carried, is_first)) {
            Some(reading @ PostReading::Suspected(_)) if !is_question => {
                self.base.cx.drain(attempt);
                self.decide(id, |exchange, rules| exchange.post_answered(rules, reading));
            }
            _ => self.answered(id, answer, Some(attempt)),
        }
    }
}

/// Returns the source of messages that an attempt of this exchange brought, or that came beside an answer.
pub(super) fn source_of(exchange: &Exchange, attempt: Option<AttemptId>) -> MessageSource {
    let generation = exchange.sent.as_ref().map(Sent::generation).unwrap_or_default();
    let exchange = exchange.origin.is_application().then_some(exchange.id);
    MessageSource { generation, exchange, attempt }
}
