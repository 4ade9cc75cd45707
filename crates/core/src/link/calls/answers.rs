//! News for a call: heads, bodies, ends and failures of its own attempts.
//!
//! This module reads what the news means, by the revision and by what else the body holds. It decides
//! nothing: what follows is up to the exchange.

use bytes::Bytes;

use super::Calls;
use super::streams::source_of;
use crate::answer::{Asked, PostAnswer, PostReading, ResumeReading, read_post, read_resume};
use crate::exchange::{Exchange, HeldBack, Phase, Step, Via};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ExchangeId};
use crate::link::effects::{CallEffect, IsWhole, PostRead};

impl Calls {
    /// Row 14: notes that a resume has reached the server, now at the latest. It may have waited for a
    /// connection, so the moment at which it was requested does not say how soon the next one may follow.
    fn note_resume(&mut self, id: ExchangeId, attempt: AttemptId) {
        let is_resume = self.all.stream_of(id, attempt).is_some_and(|live| live.via == Via::Resume);
        if is_resume && let Some(exchange) = self.all.get_mut(id) {
            exchange.counters.resumed_at = Some(self.base.cx.now);
        }
    }

    /// Handles the head of an answer.
    pub(crate) fn exchange_head(&mut self, attempt: AttemptId, id: ExchangeId, head: AnswerHead) {
        let now = self.base.cx.now;
        self.note_resume(id, attempt);
        let Some(live) = self.all.stream_of(id, attempt) else { return };
        (live.last_sign, live.connection) = (now, head.connection);
        if !head.is_stream() {
            live.phase = Phase::Body(head);
            return self.set_alarm(id);
        }
        live.phase = Phase::Stream { opened: now, heard: false, fruitful: false };
        let replaced = live.replaces.take();
        if let Some(exchange) = self.all.get_mut(id) {
            // The server accepted the credentials. Should they expire during a long call, they may be renewed
            // again.
            exchange.counters.credentials_renewed = false;
            if replaced.is_some() {
                exchange.resume_state.stream_ended();
            }
        }
        if let Some(old) = replaced {
            self.base.cx.abort(old.attempt);
        }
        self.set_alarm(id);
        self.canary_returned(id);
    }

    /// Handles the whole body of an answer, or `None` if the body of a refusal broke off.
    pub(crate) fn exchange_body(
        &mut self,
        id: ExchangeId,
        attempt: AttemptId,
        body: Option<&Bytes>,
    ) {
        let is_whole = if body.is_some() { IsWhole::Whole } else { IsWhole::BrokeOff };
        let body = &body.cloned().unwrap_or_default();
        if self.side_stream_answered(id, attempt, body) {
            return;
        }
        let Some(exchange) = self.all.get_mut(id) else { return };
        let Some(sent) = exchange.sent.clone() else { return };
        let Some(live) = exchange.live_mut() else { return };
        live.last_sign = self.base.cx.now;
        let via = live.via;
        let Phase::Body(head) = &live.phase else { return };
        let assume_unexecuted = &self.base.cx.policy.assume_unexecuted;
        let carried = sent.to.carried();
        let asked = Asked { wire_id: sent.wire_id, size: sent.size, carried, assume_unexecuted };
        match via {
            Via::Post => {
                let (mut answer, head) = (read_post(head, body, asked), head.clone());
                exchange.is_named = answer.named.is_some();
                exchange.last_refusal = self.base.cx.refusal_in(&head, answer.said.take());
                let source = source_of(exchange, None);
                self.base.cx.take_in_all(source, std::mem::take(&mut answer.others));
                if self.base.cx.has_asked() {
                    let read = PostRead { head, answer, is_whole };
                    self.base.cx.then(CallEffect::PostRead(id, Box::new(read)));
                } else {
                    self.post_read(id, (head, answer), is_whole);
                }
            }
            Via::Resume => {
                let (reading, others) = read_resume(head, body, asked);
                let source = source_of(exchange, None);
                self.base.cx.take_in_all(source, others);
                if matches!(reading, ResumeReading::Gone { .. }) {
                    // Row 9: if the session is gone, the other calls in it must learn that.
                    self.base.cx.then(CallEffect::CheckGeneration(sent.generation()));
                }
                self.base.cx.then(CallEffect::ResumeRead(id, Box::new(reading)));
            }
        }
    }

    /// Decides about a call whose resume was answered.
    pub(super) fn resume_read(&mut self, id: ExchangeId, reading: ResumeReading) {
        self.decide(id, |exchange, rules| exchange.resume_answered(rules, reading));
    }

    /// Acts on the answer to a POST.
    pub(super) fn post_read(
        &mut self,
        id: ExchangeId,
        (head, answer): (AnswerHead, PostAnswer),
        is_whole: IsWhole,
    ) {
        let Some(exchange) = self.all.get(id) else { return };
        let Some(sent) = &exchange.sent else { return };
        if exchange.origin.question().is_some() {
            return self.settle_by_body(id, head, answer.reading, answer.named);
        }
        let is_asked = exchange.counters.era_asked;
        if !is_asked && let Some(doubt) = self.base.session.era_doubt(sent, &head, &answer) {
            self.canary_returned(id);
            let step = Box::new(Step::Doubt(HeldBack::Era(doubt)));
            return self.base.cx.then(CallEffect::Step(id, step));
        }
        self.post_was_read(id, answer.reading, is_whole);
    }

    fn post_was_read(&mut self, id: ExchangeId, reading: PostReading, is_whole: IsWhole) {
        self.note_trouble(id, &reading);
        match &reading {
            PostReading::Deferred { status, hint, .. } => self.close_gate(id, *status, *hint),
            _ => self.canary_returned(id),
        }
        if let PostReading::Deferred { answer, .. }
        | PostReading::NeedsScope { answer, .. }
        | PostReading::Unauthorized { answer, .. } = &reading
            && let Some(exchange) = self.all.get_mut(id)
        {
            exchange.refused_with = answer.clone();
        }
        if self.base.cx.has_asked() {
            self.base.cx.then(CallEffect::PostDecided(id, Box::new(reading), is_whole));
        } else {
            self.post_decided(id, reading, is_whole);
        }
    }

    /// Decides about a call whose POST was answered.
    pub(super) fn post_decided(&mut self, id: ExchangeId, reading: PostReading, is_whole: IsWhole) {
        self.decide(id, |exchange, rules| match is_whole {
            IsWhole::BrokeOff => exchange.refusal_broke(rules, reading),
            IsWhole::Whole => exchange.post_answered(rules, reading),
        });
    }

    /// Row 19: handles a resume beside an old stream that was answered by a body. If that is the answer, it
    /// is taken; if not, the call goes on with the old stream. Returns false if there is no old stream.
    fn side_stream_answered(&mut self, id: ExchangeId, attempt: AttemptId, body: &Bytes) -> bool {
        let Some(exchange) = self.all.get(id) else { return false };
        let Some((live, sent)) = exchange.live().zip(exchange.sent.as_ref()) else { return false };
        let Phase::Body(head) = &live.phase else { return false };
        if live.attempt != attempt || live.replaces.is_none() {
            return false;
        }
        let generation = sent.generation();
        let asked = Asked::own(sent.wire_id, sent.to.carried());
        let (reading, others) = read_resume(head, body, asked);
        let source = source_of(exchange, None);
        self.is_side_stream(id, attempt);
        self.base.cx.take_in_all(source, others);
        match reading {
            ResumeReading::Answer(answer) => {
                self.base.cx.then(CallEffect::Finish(id, Box::new(answer)));
            }
            ResumeReading::Gone { .. } => {
                self.base.cx.then(CallEffect::CheckGeneration(generation))
            }
            _ => {}
        }
        true
    }

    /// Handles a sign of life on a stream of a call.
    pub(crate) fn heard_bytes(&mut self, attempt: AttemptId, id: ExchangeId) {
        if let Some(live) = self.all.stream_of(id, attempt) {
            live.last_sign = self.base.cx.now;
            self.set_alarm(id);
        }
    }

    /// Handles the regular end of a stream.
    pub(crate) fn exchange_ended(&mut self, id: ExchangeId, attempt: AttemptId) {
        if self.is_side_stream(id, attempt) {
            return;
        }
        if self.is_question(id) {
            return self.question_failed(id, Failure::unknown(Cause::Closed));
        }
        self.base.reach.begin_incident();
        self.decide(id, Exchange::stream_ended);
    }

    /// Handles the failure of an attempt.
    pub(crate) fn exchange_failed(&mut self, id: ExchangeId, attempt: AttemptId, failure: Failure) {
        if self.is_side_stream(id, attempt) {
            return;
        }
        if failure.delivery != Delivery::NotSent {
            self.note_resume(id, attempt);
        }
        if self.is_question(id) {
            return self.question_failed(id, failure);
        }
        let live = self.all.stream_of(id, attempt);
        let is_refused = live.is_some_and(
            |live| matches!(&live.phase, Phase::Body(head) if !head.status.is_success()),
        );
        if is_refused {
            // The status is known; only the server's words are missing.
            return self.exchange_body(id, attempt, None);
        }
        self.note_failure((id, attempt), &failure);
        self.attempt_failed(id, failure);
    }

    /// Decides about a call whose attempt failed.
    pub(super) fn attempt_failed(&mut self, id: ExchangeId, failure: Failure) {
        self.decide(id, |exchange, rules| exchange.attempt_failed(rules, failure));
    }

    /// Row 19: whether the attempt that is over was one of two streams of the call, which goes on with the
    /// other.
    pub(crate) fn is_side_stream(&mut self, id: ExchangeId, attempt: AttemptId) -> bool {
        let Some(exchange) = self.all.get_mut(id) else { return false };
        let is_side = exchange.lose_side_stream(self.base.cx.now, attempt);
        if is_side {
            self.set_alarm(id);
        }
        is_side
    }
}
