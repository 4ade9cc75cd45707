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
use crate::link::base::Base;
use crate::link::effects::{CallEffect, IsWhole, PostRead};
use crate::moment::Moment;

impl Calls {
    /// Row 14: notes that a resume has reached the server, now at the latest. It may have waited for a
    /// connection, so the moment at which it was requested does not say how soon the next one may follow.
    fn note_resume(&mut self, now: Moment, id: ExchangeId, attempt: AttemptId) {
        let is_resume = self.stream_of(id, attempt).is_some_and(|live| live.via == Via::Resume);
        if is_resume && let Some(exchange) = self.get_mut(id) {
            exchange.counters.resumed_at = Some(now);
        }
    }

    /// Handles the head of an answer.
    pub(crate) fn exchange_head(
        &mut self,
        base: &mut Base,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
        head: AnswerHead,
    ) {
        self.note_resume(now, id, attempt);
        let Some(live) = self.stream_of(id, attempt) else { return };
        (live.last_sign, live.connection) = (now, head.connection);
        if !head.is_stream() {
            live.phase = Phase::Body(head);
            return self.set_alarm(base, id);
        }
        live.phase = Phase::Stream { opened: now, heard: false, fruitful: false };
        let replaced = live.replaces.take();
        if let Some(exchange) = self.get_mut(id) {
            // The server accepted the credentials. Should they expire during a long call, they may be renewed
            // again.
            exchange.counters.credentials_renewed = false;
            if replaced.is_some() {
                exchange.resume_state.stream_ended();
            }
        }
        if let Some(old) = replaced {
            base.cx.abort(old.attempt);
        }
        self.set_alarm(base, id);
        self.canary_returned(base, now, id);
    }

    /// Handles the whole body of an answer, or `None` if the body of a refusal broke off.
    pub(crate) fn exchange_body(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        body: Option<&Bytes>,
    ) {
        let is_whole = if body.is_some() { IsWhole::Whole } else { IsWhole::BrokeOff };
        let body = &body.cloned().unwrap_or_default();
        if self.side_stream_answered(base, now, id, attempt, body) {
            return;
        }
        let Some(exchange) = self.get_mut(id) else { return };
        let Some(sent) = exchange.sent.clone() else { return };
        let Some(live) = exchange.live_mut() else { return };
        live.last_sign = now;
        let via = live.via;
        let Phase::Body(head) = &live.phase else { return };
        let assume_unexecuted = &base.cx.policy.assume_unexecuted;
        let carried = sent.to.carried();
        let asked = Asked { wire_id: sent.wire_id, size: sent.size, carried, assume_unexecuted };
        match via {
            Via::Post => {
                let (mut answer, head) = (read_post(head, body, asked), head.clone());
                exchange.is_named = answer.named.is_some();
                exchange.last_refusal = base.cx.refusal_in(&head, answer.said.take());
                let source = source_of(exchange, None);
                base.cx.take_in_all(source, std::mem::take(&mut answer.others));
                if base.cx.has_asked() {
                    let read = PostRead { head, answer, is_whole };
                    base.cx.then(CallEffect::PostRead(id, Box::new(read)));
                } else {
                    self.post_read(base, now, id, (head, answer), is_whole);
                }
            }
            Via::Resume => {
                let (reading, others) = read_resume(head, body, asked);
                let source = source_of(exchange, None);
                base.cx.take_in_all(source, others);
                if matches!(reading, ResumeReading::Gone { .. }) {
                    // Row 9: if the session is gone, the other calls in it must learn that.
                    base.cx.then(CallEffect::CheckGeneration(sent.generation()));
                }
                base.cx.then(CallEffect::ResumeRead(id, Box::new(reading)));
            }
        }
    }

    /// Decides about a call whose resume was answered.
    pub(super) fn resume_read(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        reading: ResumeReading,
    ) {
        self.decide(base, now, id, |exchange, rules| exchange.resume_answered(rules, reading));
    }

    /// Acts on the answer to a POST.
    pub(super) fn post_read(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        (head, answer): (AnswerHead, PostAnswer),
        is_whole: IsWhole,
    ) {
        let Some(exchange) = self.get(id) else { return };
        let Some(sent) = &exchange.sent else { return };
        if exchange.origin.question().is_some() {
            return self.settle_by_body(base, now, id, head, answer.reading, answer.named);
        }
        let is_asked = exchange.counters.era_asked;
        if !is_asked && let Some(doubt) = base.session.era_doubt(sent, &head, &answer) {
            self.canary_returned(base, now, id);
            let step = Box::new(Step::Doubt(HeldBack::Era(doubt)));
            return base.cx.then(CallEffect::Step(id, step));
        }
        self.post_was_read(base, now, id, answer.reading, is_whole);
    }

    fn post_was_read(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        reading: PostReading,
        is_whole: IsWhole,
    ) {
        self.note_trouble(base, now, id, &reading);
        match &reading {
            PostReading::Deferred { status, hint, .. } => {
                self.close_gate(base, now, id, *status, *hint)
            }
            _ => self.canary_returned(base, now, id),
        }
        if let PostReading::Deferred { answer, .. }
        | PostReading::NeedsScope { answer, .. }
        | PostReading::Unauthorized { answer, .. } = &reading
            && let Some(exchange) = self.get_mut(id)
        {
            exchange.refused_with = answer.clone();
        }
        if base.cx.has_asked() {
            base.cx.then(CallEffect::PostDecided(id, Box::new(reading), is_whole));
        } else {
            self.post_decided(base, now, id, reading, is_whole);
        }
    }

    /// Decides about a call whose POST was answered.
    pub(super) fn post_decided(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        reading: PostReading,
        is_whole: IsWhole,
    ) {
        self.decide(base, now, id, |exchange, rules| match is_whole {
            IsWhole::BrokeOff => exchange.refusal_broke(rules, reading),
            IsWhole::Whole => exchange.post_answered(rules, reading),
        });
    }

    /// Row 19: handles a resume beside an old stream that was answered by a body. If that is the answer, it
    /// is taken; if not, the call goes on with the old stream. Returns false if there is no old stream.
    fn side_stream_answered(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        body: &Bytes,
    ) -> bool {
        let Some(exchange) = self.get(id) else { return false };
        let Some((live, sent)) = exchange.live().zip(exchange.sent.as_ref()) else { return false };
        let Phase::Body(head) = &live.phase else { return false };
        if live.attempt != attempt || live.replaces.is_none() {
            return false;
        }
        let generation = sent.generation();
        let asked = Asked::own(sent.wire_id, sent.to.carried());
        let (reading, others) = read_resume(head, body, asked);
        let source = source_of(exchange, None);
        self.is_side_stream(base, now, id, attempt);
        base.cx.take_in_all(source, others);
        match reading {
            ResumeReading::Answer(answer) => {
                base.cx.then(CallEffect::Finish(id, Box::new(answer)));
            }
            ResumeReading::Gone { .. } => base.cx.then(CallEffect::CheckGeneration(generation)),
            _ => {}
        }
        true
    }

    /// Handles a sign of life on a stream of a call.
    pub(crate) fn heard_bytes(
        &mut self,
        base: &mut Base,
        now: Moment,
        attempt: AttemptId,
        id: ExchangeId,
    ) {
        if let Some(live) = self.stream_of(id, attempt) {
            live.last_sign = now;
            self.set_alarm(base, id);
        }
    }

    /// Handles the regular end of a stream.
    pub(crate) fn exchange_ended(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
    ) {
        if self.is_side_stream(base, now, id, attempt) {
            return;
        }
        if self.is_question(id) {
            return self.question_failed(base, now, id, Failure::unknown(Cause::Closed));
        }
        base.reach.begin_incident();
        self.decide(base, now, id, Exchange::stream_ended);
    }

    /// Handles the failure of an attempt.
    pub(crate) fn exchange_failed(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
        failure: Failure,
    ) {
        if self.is_side_stream(base, now, id, attempt) {
            return;
        }
        if failure.delivery != Delivery::NotSent {
            self.note_resume(now, id, attempt);
        }
        if self.is_question(id) {
            return self.question_failed(base, now, id, failure);
        }
        let live = self.stream_of(id, attempt);
        let is_refused = live.is_some_and(
            |live| matches!(&live.phase, Phase::Body(head) if !head.status.is_success()),
        );
        if is_refused {
            // The status is known; only the server's words are missing.
            return self.exchange_body(base, now, id, attempt, None);
        }
        self.note_failure(base, now, (id, attempt), &failure);
        self.attempt_failed(base, now, id, failure);
    }

    /// Decides about a call whose attempt failed.
    pub(super) fn attempt_failed(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        failure: Failure,
    ) {
        self.decide(base, now, id, |exchange, rules| exchange.attempt_failed(rules, failure));
    }

    /// Row 19: whether the attempt that is over was one of two streams of the call, which goes on with the
    /// other.
    pub(crate) fn is_side_stream(
        &mut self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        attempt: AttemptId,
    ) -> bool {
        let Some(exchange) = self.get_mut(id) else { return false };
        let is_side = exchange.lose_side_stream(now, attempt);
        if is_side {
            self.set_alarm(base, id);
        }
        is_side
    }
}
