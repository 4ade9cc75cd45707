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
use crate::link::effects::{CallEffect, ReachEffect, SessionEffect};
use crate::link::own_request::{OwnOutcome, OwnReply, OwnRequest};
use crate::link::timers::Timer;
use crate::outcome::{Kind, Reason};
use crate::output::{Action, Output, PeerNews};

impl Calls {
    /// L22: holds unsafe calls, because a request met trouble at the server.
    pub(crate) fn trouble(&mut self, hint: Option<Duration>) {
        if self.hold(hint) {
            let wait = hint.unwrap_or_default();
            self.base.cx.put(Output::Share(PeerNews::Trouble { wait }));
        }
    }

    /// Holds unsafe calls. Returns whether the trouble was not known.
    fn hold(&mut self, hint: Option<Duration>) -> bool {
        let is_first = !self.base.admission.probation.is_on();
        let (cx, probation) = (&mut self.base.cx, &mut self.base.admission.probation);
        let is_news = probation.trouble(cx.now, cx.attempts.last(), hint, &mut cx.rng);
        if is_first && let Some(until) = probation.next_question() {
            cx.tell(Event::CallsHeld { until });
        }
        cx.then(CallEffect::SetProbationAlarm);
        if self.base.admission.probation.is_on() {
            self.recall();
        }
        is_news
    }

    /// Takes unsafe calls back that were let out and may not have gone out: they wait for a connection.
    fn recall(&mut self) {
        for exchange in self.all.iter() {
            let out = exchange.live().filter(|live| live.via == Via::Post);
            if let Some(live) = out
                && matches!(live.phase, Phase::Asked)
                && exchange.origin.is_application()
                && !self.is_safe(exchange)
            {
                self.base.cx.act(Action::Recall { attempt: live.attempt });
            }
        }
    }

    /// Takes in what another link of this server found out.
    pub(crate) fn peer_told(&mut self, news: PeerNews) {
        let now = self.base.cx.now;
        let (cx, probation) = (&mut self.base.cx, &mut self.base.admission.probation);
        match news {
            PeerNews::Answered => probation.peer_answered(now, &mut cx.rng),
            PeerNews::Asking => probation.asked(now),
            PeerNews::Trouble { wait } => _ = self.hold(Some(wait)),
            PeerNews::Undecided => probation.undecided(now, &mut cx.rng),
        }
        self.base.cx.then(CallEffect::SetProbationAlarm);
    }

    /// Notes that what was tried has found nothing out.
    fn undecided(&mut self) {
        self.base.admission.probation.undecided(self.base.cx.now, &mut self.base.cx.rng);
        self.base.cx.put(Output::Share(PeerNews::Undecided));
    }

    /// Notes what an answer to the POST of a call says about trouble.
    pub(super) fn note_trouble(&mut self, id: ExchangeId, reading: &PostReading) {
        if self.all.get(id).is_none_or(|exchange| !exchange.origin.is_application()) {
            return;
        }
        match reading {
            PostReading::Deferred { status, hint, delivery: Delivery::Unknown, .. }
                if status::is_unavailable(*status) =>
            {
                self.trouble(*hint);
            }
            PostReading::Interrupted { hint, .. } => self.trouble(*hint),
            _ => {}
        }
    }

    /// Notes what a failure of the POST of a call before its head says about trouble.
    pub(super) fn note_failure(
        &mut self,
        (id, attempt): (ExchangeId, AttemptId),
        failure: &Failure,
    ) {
        let is_own = self.all.get(id).is_none_or(|exchange| !exchange.origin.is_application());
        let is_post = self.all.stream_of(id, attempt).is_some_and(|live| live.via == Via::Post);
        let broke = failure.delivery == Delivery::Unknown && !failure.cause.is_misbehaviour();
        if !is_own && is_post && broke && self.all.is_headless(id, attempt) {
            self.trouble(None);
        }
    }

    /// Whether a call must wait until the server has shown that it answers.
    pub(super) fn must_wait(&mut self, id: ExchangeId) -> bool {
        if !self.base.admission.probation.is_on() {
            return false;
        }
        let is_refusing = self.base.health.refuses_for(self.base.cx.now).is_some();
        let Some(exchange) = self.all.get(id) else { return false };
        let has_patience = !self.base.reach.patience(&self.base.cx.policy).is_zero();
        if !exchange.origin.is_application() || !has_patience {
            return false;
        }
        let is_new = exchange.counters.attempts == 0;
        if self.is_safe(exchange) {
            is_refusing && is_new
        } else {
            !self.base.admission.probation.pass(id)
        }
    }

    /// Lets a call wait until the server has shown that it answers.
    pub(super) fn wait_on_probation(&mut self, id: ExchangeId) {
        self.wait(id, Waiting::Probation { since: self.base.cx.now });
        self.base.cx.then(CallEffect::SetProbationAlarm);
        // A call that waits is not in flight: another call may have its place.
        self.give_place_back(id);
    }

    /// Ends a call that has waited for as long as it may.
    pub(super) fn end_on_probation(&mut self, id: ExchangeId) {
        let next = self.base.admission.probation.due().map(|next| next.since(self.base.cx.now));
        let last = self.base.cx.last_failure().map(|(_, reason)| reason.clone());
        let ending = Ending::new(Kind::BreakerOpen, last.unwrap_or(Reason::Nothing));
        self.end(id, Ending { retry_after: next, ..ending });
    }

    /// Does what is due: finds out whether the server answers, or lets the next group out.
    pub(crate) fn probation_due(&mut self) {
        let now = self.base.cx.now;
        let has_waiters = self.all.await_any(Awaited::Probation);
        if self.base.admission.probation.is_silent(now) {
            self.let_one_out();
        } else if self.base.admission.probation.next_question().is_some_and(|at| at <= now) {
            self.find_out();
        } else {
            self.base.admission.probation.grow(now, has_waiters);
            self.release_from_probation();
        }
        self.base.cx.then(CallEffect::SetProbationAlarm);
    }

    /// Finds out whether the server answers: by a safe call that waits to be repeated, or by a question.
    fn find_out(&mut self) {
        let now = self.base.cx.now;
        if !self.base.reach.lets_control_out() {
            // The connect loop finds out first.
            self.undecided();
            return self.base.cx.then(ReachEffect::Drive);
        }
        if self.base.session.ready().is_none() {
            // A handshake that succeeds has found out.
            self.undecided();
            return self.base.cx.then(SessionEffect::Ensure);
        }
        let prefers_a_call = self.base.admission.probation.prefers_a_call();
        self.base.admission.probation.asked(now);
        self.base.cx.put(Output::Share(PeerNews::Asking));
        let repeat = |it: &&Exchange| {
            matches!(it.state, State::Waiting(Waiting::Until { then: Then::Send, .. }))
                && it.origin.is_application()
                && it.counters.not_before <= now
                && self.is_safe(it)
        };
        let repeated = self.all.iter().filter(|_| prefers_a_call).find(repeat).map(|it| it.id);
        match repeated {
            Some(id) => self.base.cx.then(CallEffect::LetOut(id, Then::Send)),
            None => {
                let method = self.base.health.question(false);
                self.ask(OwnRequest::new(Purpose::Probation, method, QUESTION_LIMIT));
            }
        }
    }

    /// Lets the call out alone that has waited longest: a tool that blocks its server's loop answers no
    /// question.
    fn let_one_out(&mut self) {
        let oldest = self.all.iter().find(|it| it.awaits(Awaited::Probation)).map(|it| it.id);
        match oldest {
            Some(id) => {
                self.base.admission.probation.let_one_out(self.base.cx.now, id);
                self.base.cx.then(CallEffect::LetOutIf(id, Awaited::Probation));
            }
            None => self.undecided(),
        }
    }

    /// Handles the reply to the question whether the server answers.
    pub(super) fn probation_told(&mut self, word: OwnOutcome) {
        match word {
            OwnOutcome::Answered(reply) => self.probation_replied(*reply),
            OwnOutcome::Nothing(failure) if failure.cause == Cause::TimedOut => {
                self.let_one_out();
            }
            OwnOutcome::Nothing(_) => self.undecided(),
        }
        self.base.cx.then(CallEffect::SetProbationAlarm);
    }

    fn probation_replied(&mut self, reply: OwnReply) {
        let generation = reply.to.generation;
        let is_current = self.base.session.current_generation() == Some(generation);
        let is_left = is_current
            && self.base.session.met_the_other_era(&reply.to, &reply.head, &reply.reading);
        match reply.reading {
            PostReading::Suspected(_) if is_current => self.lose_session(generation),
            _ if is_left => self.lose_session(generation),
            PostReading::Answer(_) => self.base.cx.then(CallEffect::ServerAnswered(None)),
            PostReading::Deferred { hint, .. } | PostReading::Interrupted { hint, .. } => {
                self.trouble(hint);
            }
            // Something answers, and does not know the question or who asks: a call gets an answer of its own.
            PostReading::Rejected(status, _) if status.is_client_error() => {
                self.let_one_out();
            }
            PostReading::Accepted
            | PostReading::NeedsScope { .. }
            | PostReading::Unauthorized { .. } => self.let_one_out(),
            _ => self.undecided(),
        }
    }

    /// Gives up a session in which the question was refused, and makes the next one, which finds out.
    fn lose_session(&mut self, generation: Generation) {
        self.undecided();
        self.base.health.session_refused(&mut self.base.cx, generation);
        self.base.cx.then(SessionEffect::Ensure);
    }

    /// Notes that the server answered this attempt, or something that was sent after the trouble.
    pub(super) fn server_answered(&mut self, attempt: Option<AttemptId>) {
        if self.base.admission.probation.answered(self.base.cx.now, attempt) {
            self.base.cx.tell(Event::CallsReleased);
            self.base.cx.put(Output::Share(PeerNews::Answered));
            self.base.health.server_answered(&mut self.base.cx);
            self.release_from_probation();
            self.base.cx.then(CallEffect::SetProbationAlarm);
        }
    }

    /// Notes that a handshake succeeded. It says nothing to an open breaker, which waits for an answer in the
    /// session.
    pub(super) fn session_made(&mut self) {
        if self.base.health.refuses_for(self.base.cx.now).is_none() {
            self.server_answered(None);
        }
    }

    /// Notes the end of a call that went out on probation.
    pub(super) fn probation_ended(&mut self, id: ExchangeId, kind: Option<Kind>) {
        let now = self.base.cx.now;
        let is_given_up =
            matches!(kind, Some(Kind::Cancelled | Kind::Closed | Kind::DeadlinePassed));
        if !is_given_up && kind.is_some() {
            self.trouble(None);
        }
        if self.base.admission.probation.ended(now, id, kind.is_none()) {
            let has_waiters = self.all.await_any(Awaited::Probation);
            self.base.admission.probation.grow(now, has_waiters);
            self.base.cx.then(CallEffect::ReleaseFromProbation);
        }
        self.base.cx.then(CallEffect::SetProbationAlarm);
    }

    /// Lets out as many of the calls that wait as may go.
    pub(super) fn release_from_probation(&mut self) {
        let mut room = self.base.admission.probation.room();
        let waiting = self.all.iter().filter(|it| it.awaits(Awaited::Probation));
        let mut released = Vec::new();
        for exchange in waiting {
            let is_safe = self.is_safe(exchange);
            if is_safe || room > 0 {
                released.push(exchange.id);
            }
            room = room.saturating_sub(usize::from(!is_safe));
        }
        for id in released {
            self.base.cx.then(CallEffect::LetOutIf(id, Awaited::Probation));
        }
    }

    /// Sets the timer of the probation: only calls that wait have something to be found out for.
    pub(super) fn set_probation_alarm(&mut self) {
        let has_waiters = self.all.await_any(Awaited::Probation);
        let due = self.base.admission.probation.due().filter(|_| has_waiters);
        self.base.cx.timers.set(Timer::Probation, due);
    }

    /// Whether a call may be sent twice.
    pub(super) fn is_safe(&self, exchange: &Exchange) -> bool {
        self.tools.is_safe(&exchange.call, exchange.rule, self.base.cx.policy.trust_hints)
    }
}

/// How long the question may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
