//! Unsafe calls after trouble: a harmless request goes first, and they follow in growing numbers.
//!
//! What finds out is a safe call that waits to be repeated, if there is one, or else a question of the link. A
//! session that was made, or anything else that the server answered since the trouble, does as well.

use std::time::Duration;

use super::Calls;
use crate::answer::{PostReading, status};
use crate::event::Event;
use crate::exchange::{Awaited, Ending, Exchange, Phase, Purpose, State, Then, Via, Waiting};
use crate::failure::{Cause, Delivery, Failure};
use crate::ids::{AttemptId, ExchangeId, Generation};
use crate::link::base::Base;
use crate::link::effects::{CallEffect, ReachEffect, SessionEffect};
use crate::link::own_request::{OwnOutcome, OwnReply, OwnRequest};
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::output::{Action, Output, PeerNews};

impl Calls {
    /// L22: holds unsafe calls, because a request met trouble at the server.
    pub(crate) fn trouble(&self, base: &mut Base, now: Moment, hint: Option<Duration>) {
        if self.hold(base, now, hint) {
            let wait = hint.unwrap_or_default();
            base.cx.put(Output::Share(PeerNews::Trouble { wait }));
        }
    }

    /// Holds unsafe calls. Returns whether the trouble was not known.
    fn hold(&self, base: &mut Base, now: Moment, hint: Option<Duration>) -> bool {
        let is_first = !base.admission.probation.is_on();
        let (cx, probation) = (&mut base.cx, &mut base.admission.probation);
        let is_news = probation.trouble(now, cx.attempts.last(), hint, &mut cx.rng);
        if is_first && let Some(until) = probation.next_question() {
            cx.tell(Event::CallsHeld { until });
        }
        cx.then(CallEffect::SetProbationAlarm);
        if base.admission.probation.is_on() {
            self.recall(base);
        }
        is_news
    }

    /// Takes unsafe calls back that were let out and may not have gone out: they wait for a connection.
    fn recall(&self, base: &mut Base) {
        for exchange in self.iter() {
            let out = exchange.live().filter(|live| live.via == Via::Post);
            if let Some(live) = out
                && matches!(live.phase, Phase::Asked)
                && exchange.origin.is_application()
                && !self.is_safe(base, exchange)
            {
                base.cx.act(Action::Recall { attempt: live.attempt });
            }
        }
    }

    /// Takes in what another link of this server found out.
    pub(crate) fn peer_told(&self, base: &mut Base, now: Moment, news: PeerNews) {
        let (cx, probation) = (&mut base.cx, &mut base.admission.probation);
        match news {
            PeerNews::Answered => probation.peer_answered(now, &mut cx.rng),
            PeerNews::Asking => probation.asked(now),
            PeerNews::Trouble { wait } => _ = self.hold(base, now, Some(wait)),
            PeerNews::Undecided => probation.undecided(now, &mut cx.rng),
        }
        base.cx.then(CallEffect::SetProbationAlarm);
    }

    /// Notes that what was tried has found nothing out.
    fn undecided(&self, base: &mut Base, now: Moment) {
        base.admission.probation.undecided(now, &mut base.cx.rng);
        base.cx.put(Output::Share(PeerNews::Undecided));
    }

    /// Notes what an answer to the POST of a call says about trouble.
    pub(super) fn note_trouble(
        &self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        reading: &PostReading,
    ) {
        if self.get(id).is_none_or(|exchange| !exchange.origin.is_application()) {
            return;
        }
        match reading {
            PostReading::Deferred { status, hint, delivery: Delivery::Unknown, .. }
                if status::is_unavailable(*status) =>
            {
                self.trouble(base, now, *hint);
            }
            PostReading::Interrupted { hint, .. } => self.trouble(base, now, *hint),
            _ => {}
        }
    }

    /// Notes what a failure of the POST of a call before its head says about trouble.
    pub(super) fn note_failure(
        &mut self,
        base: &mut Base,
        now: Moment,
        (id, attempt): (ExchangeId, AttemptId),
        failure: &Failure,
    ) {
        let is_own = self.get(id).is_none_or(|exchange| !exchange.origin.is_application());
        let is_post = self.stream_of(id, attempt).is_some_and(|live| live.via == Via::Post);
        let broke = failure.delivery == Delivery::Unknown && !failure.cause.is_misbehaviour();
        if !is_own && is_post && broke && self.is_headless(id, attempt) {
            self.trouble(base, now, None);
        }
    }

    /// Whether a call must wait until the server has shown that it answers.
    pub(super) fn must_wait(&self, base: &mut Base, now: Moment, id: ExchangeId) -> bool {
        if !base.admission.probation.is_on() {
            return false;
        }
        let is_refusing = base.health.refuses_for(now).is_some();
        let Some(exchange) = self.get(id) else { return false };
        let has_patience = !base.reach.patience(&base.cx.policy).is_zero();
        if !exchange.origin.is_application() || !has_patience {
            return false;
        }
        let is_new = exchange.counters.attempts == 0;
        if self.is_safe(base, exchange) {
            is_refusing && is_new
        } else {
            !base.admission.probation.pass(id)
        }
    }

    /// Lets a call wait until the server has shown that it answers.
    pub(super) fn wait_on_probation(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        self.wait(base, now, id, Waiting::Probation { since: now });
        base.cx.then(CallEffect::SetProbationAlarm);
        // A call that waits is not in flight: another call may have its place.
        self.give_place_back(base, id);
    }

    /// Ends a call that has waited for as long as it may.
    pub(super) fn end_on_probation(&mut self, base: &mut Base, now: Moment, id: ExchangeId) {
        let next = base.admission.probation.due().map(|next| next.since(now));
        let last = base.cx.last_failure().map(|(_, reason)| reason.clone());
        let ending = Ending::new(Kind::BreakerOpen, last.unwrap_or(Reason::Nothing));
        self.end(base, now, id, Ending { retry_after: next, ..ending });
    }

    /// Does what is due: finds out whether the server answers, or lets the next group out.
    pub(crate) fn probation_due(&mut self, base: &mut Base, now: Moment) {
        let has_waiters = self.await_any(Awaited::Probation);
        if base.admission.probation.is_silent(now) {
            self.let_one_out(base, now);
        } else if base.admission.probation.next_question().is_some_and(|at| at <= now) {
            self.find_out(base, now);
        } else {
            base.admission.probation.grow(now, has_waiters);
            self.release_from_probation(base);
        }
        base.cx.then(CallEffect::SetProbationAlarm);
    }

    /// Finds out whether the server answers: by a safe call that waits to be repeated, or by a question.
    fn find_out(&mut self, base: &mut Base, now: Moment) {
        if !base.reach.lets_control_out() {
            // The connect loop finds out first.
            self.undecided(base, now);
            return base.cx.then(ReachEffect::Drive);
        }
        if base.session.ready().is_none() {
            // A handshake that succeeds has found out.
            self.undecided(base, now);
            return base.cx.then(SessionEffect::Ensure);
        }
        let prefers_a_call = base.admission.probation.prefers_a_call();
        base.admission.probation.asked(now);
        base.cx.put(Output::Share(PeerNews::Asking));
        let repeat = |it: &&Exchange| {
            matches!(it.state, State::Waiting(Waiting::Until { then: Then::Send, .. }))
                && it.origin.is_application()
                && it.counters.not_before <= now
                && self.is_safe(base, it)
        };
        let repeated = self.iter().filter(|_| prefers_a_call).find(repeat).map(|it| it.id);
        match repeated {
            Some(id) => base.cx.then(CallEffect::LetOut(id, Then::Send)),
            None => {
                let method = base.health.question(false);
                self.ask(base, now, OwnRequest::new(Purpose::Probation, method, QUESTION_LIMIT));
            }
        }
    }

    /// Lets the call out alone that has waited longest: a tool that blocks its server's loop answers no
    /// question.
    fn let_one_out(&mut self, base: &mut Base, now: Moment) {
        let oldest = self.iter().find(|it| it.awaits(Awaited::Probation)).map(|it| it.id);
        match oldest {
            Some(id) => {
                base.admission.probation.let_one_out(now, id);
                base.cx.then(CallEffect::LetOutIf(id, Awaited::Probation));
            }
            None => self.undecided(base, now),
        }
    }

    /// Handles the reply to the question whether the server answers.
    pub(super) fn probation_told(&mut self, base: &mut Base, now: Moment, word: OwnOutcome) {
        match word {
            OwnOutcome::Answered(reply) => self.probation_replied(base, now, *reply),
            OwnOutcome::Nothing(failure) if failure.cause == Cause::TimedOut => {
                self.let_one_out(base, now);
            }
            OwnOutcome::Nothing(_) => self.undecided(base, now),
        }
        base.cx.then(CallEffect::SetProbationAlarm);
    }

    fn probation_replied(&mut self, base: &mut Base, now: Moment, reply: OwnReply) {
        let generation = reply.to.generation;
        let is_current = base.session.current_generation() == Some(generation);
        let is_left =
            is_current && base.session.met_the_other_era(&reply.to, &reply.head, &reply.reading);
        match reply.reading {
            PostReading::Suspected(_) if is_current => self.lose_session(base, now, generation),
            _ if is_left => self.lose_session(base, now, generation),
            PostReading::Answer(_) => base.cx.then(CallEffect::ServerAnswered(None)),
            PostReading::Deferred { hint, .. } | PostReading::Interrupted { hint, .. } => {
                self.trouble(base, now, hint);
            }
            // Something answers, and does not know the question or who asks: a call gets an answer of its own.
            PostReading::Rejected(status, _) if status.is_client_error() => {
                self.let_one_out(base, now);
            }
            PostReading::Accepted
            | PostReading::NeedsScope { .. }
            | PostReading::Unauthorized { .. } => self.let_one_out(base, now),
            _ => self.undecided(base, now),
        }
    }

    /// Gives up a session in which the question was refused, and makes the next one, which finds out.
    fn lose_session(&self, base: &mut Base, now: Moment, generation: Generation) {
        self.undecided(base, now);
        base.health.session_refused(&mut base.cx, generation);
        base.cx.then(SessionEffect::Ensure);
    }

    /// Notes that the server answered this attempt, or something that was sent after the trouble.
    pub(super) fn server_answered(
        &mut self,
        base: &mut Base,
        now: Moment,
        attempt: Option<AttemptId>,
    ) {
        if base.admission.probation.answered(now, attempt) {
            base.cx.tell(Event::CallsReleased);
            base.cx.put(Output::Share(PeerNews::Answered));
            base.health.server_answered(&mut base.cx);
            self.release_from_probation(base);
            base.cx.then(CallEffect::SetProbationAlarm);
        }
    }

    /// Notes that a handshake succeeded. It says nothing to an open breaker, which waits for an answer in the
    /// session.
    pub(super) fn session_made(&mut self, base: &mut Base, now: Moment) {
        if base.health.refuses_for(now).is_none() {
            self.server_answered(base, now, None);
        }
    }

    /// Notes the end of a call that went out on probation.
    pub(super) fn probation_ended(
        &self,
        base: &mut Base,
        now: Moment,
        id: ExchangeId,
        kind: Option<Kind>,
    ) {
        let is_given_up =
            matches!(kind, Some(Kind::Cancelled | Kind::Closed | Kind::DeadlinePassed));
        if !is_given_up && kind.is_some() {
            self.trouble(base, now, None);
        }
        if base.admission.probation.ended(now, id, kind.is_none()) {
            let has_waiters = self.await_any(Awaited::Probation);
            base.admission.probation.grow(now, has_waiters);
            base.cx.then(CallEffect::ReleaseFromProbation);
        }
        base.cx.then(CallEffect::SetProbationAlarm);
    }

    /// Lets out as many of the calls that wait as may go.
    pub(super) fn release_from_probation(&self, base: &mut Base) {
        let mut room = base.admission.probation.room();
        let waiting = self.iter().filter(|it| it.awaits(Awaited::Probation));
        let mut released = Vec::new();
        for exchange in waiting {
            let is_safe = self.is_safe(base, exchange);
            if is_safe || room > 0 {
                released.push(exchange.id);
            }
            room = room.saturating_sub(usize::from(!is_safe));
        }
        for id in released {
            base.cx.then(CallEffect::LetOutIf(id, Awaited::Probation));
        }
    }

    /// Sets the timer of the probation: only calls that wait have something to be found out for.
    pub(super) fn set_probation_alarm(&self, base: &mut Base) {
        let has_waiters = self.await_any(Awaited::Probation);
        let due = base.admission.probation.due().filter(|_| has_waiters);
        base.cx.timers.set(Timer::Probation, due);
    }

    /// Whether a call may be sent twice.
    pub(super) fn is_safe(&self, base: &Base, exchange: &Exchange) -> bool {
        self.tools.is_safe(&exchange.call, exchange.rule, base.cx.policy.trust_hints)
    }
}

/// How long the question may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
