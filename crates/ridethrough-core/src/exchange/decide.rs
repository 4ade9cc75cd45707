//! The decision table: from what happened to the next step.
//!
//! One method per thing that can happen, each naming its rows. Nothing here reads a clock, sends
//! a byte or knows the link; what it may spend is in the [`Ledger`](super::Ledger).

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::{Exchange, Phase, PostReading, ResumeReading, Then, Via};
use crate::dice::Dice;
use crate::era::Era;
use crate::failure::{Cause, Delivery, Failure};
use crate::head::{Challenge, Redirect};
use crate::message::Answer;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::policy::RecoveryPolicy;

/// What to do next for an exchange.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Row 18: wait for the answer on any stream until then.
    AwaitAnswer { until: Moment },
    /// Row 1: wait for a connection, then this.
    AwaitLink(Then, Failure),
    /// Row 9: ask whether the session is there, then send again, paying for it.
    CheckSession,
    /// The words of a lost session under 200: ask first.
    CheckSuspicion(Answer),
    /// It is over.
    Finish(Result<Answer, Ending>),
    /// Rows 22 and 23: bring what the server asked for, then this.
    RenewCredentials { then: Then, challenge: Option<Challenge> },
    /// Row 5.
    RenewSession,
    /// Rows 2, 3 and 7: send again at that moment, paying for it.
    ///
    /// With a status: the server asked for this time, and others should know.
    Resend { at: Moment, because: Reason, deferral: Option<StatusCode> },
    /// Rows 6, 8, 9, 11, 12 and 13.
    Resume { at: Moment, because: Reason },
    /// Row 24: ask again at the new path.
    Retarget(Then),
}

/// An end without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) kind: Kind,
    pub(crate) reason: Reason,
    pub(crate) retry_after: Option<Duration>,
}

impl Ending {
    pub(crate) const fn new(kind: Kind, reason: Reason) -> Self {
        Self { kind, reason, retry_after: None }
    }

    pub(crate) const fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

impl From<Ending> for Step {
    fn from(ending: Ending) -> Self {
        Self::Finish(Err(ending))
    }
}

/// What a decision may look at besides the exchange.
pub(crate) struct Rules<'a> {
    pub(crate) now: Moment,
    pub(crate) era: Era,
    pub(crate) policy: &'a RecoveryPolicy,
    pub(crate) dice: &'a mut Dice,
    /// Whether the request may be sent again once it may have arrived.
    pub(crate) is_safe: bool,
    /// Whether a connect of this link has ever succeeded.
    pub(crate) connected_before: bool,
}

impl Exchange {
    /// The attempt failed below HTTP, or its stream was cut.
    pub(crate) fn attempt_failed(&mut self, rules: &mut Rules<'_>, failure: Failure) -> Step {
        let Some(live) = self.live() else { return stop(Kind::Interrupted, Reason::Nothing) };
        let (via, is_asked) = (live.via, matches!(live.phase, Phase::Asked));
        if failure.cause.is_misbehaviour() {
            self.ledger.note(Delivery::Unknown);
            return stop(Kind::PeerMisbehaved, Reason::Transport(failure));
        }
        if is_asked && failure.delivery == Delivery::NotSent {
            return self.not_connected(rules, via, failure);
        }
        match (via, &live.phase) {
            (_, Phase::Stream { .. }) => self.stream_broke(rules, Reason::Transport(failure)),
            (Via::Resume, _) => self.resume_later(rules, None, Reason::Transport(failure)),
            // Row 3 before the head, row 7 within a body: the same doubt, the same answer.
            (Via::Post, _) => {
                self.ledger.note(Delivery::Unknown);
                self.repeat_or_stop(rules, Kind::Interrupted, None, Reason::Transport(failure))
            }
        }
    }

    /// Rows 1 and 1p: nothing was sent.
    fn not_connected(&mut self, rules: &Rules<'_>, via: Via, failure: Failure) -> Step {
        self.ledger.note(Delivery::NotSent);
        if failure.cause.is_lasting(rules.connected_before) {
            return stop(Kind::Unreachable, Reason::Transport(failure));
        }
        let then = match via {
            Via::Post => Then::Send,
            Via::Resume => Then::Resume,
        };
        Step::AwaitLink(then, failure)
    }

    /// The stream ended cleanly, without the answer.
    pub(crate) fn stream_ended(&mut self, rules: &mut Rules<'_>) -> Step {
        self.stream_broke(rules, Reason::Transport(Failure::unknown(Cause::Closed)))
    }

    /// Rows 6, 7, 12, 12s and 13.
    fn stream_broke(&mut self, rules: &mut Rules<'_>, because: Reason) -> Step {
        self.ledger.note(Delivery::Unknown);
        let Some(live) = self.live() else { return stop(Kind::Interrupted, because) };
        let (via, (opened, fruitful)) = (
            live.via,
            match live.phase {
                Phase::Stream { opened, fruitful, .. } => (opened, fruitful),
                _ => (rules.now, false),
            },
        );
        self.trail.stream_ended();
        if !rules.era.resumes_streams() || self.trail.last_event_id().is_none() {
            let retry = self.trail.retry();
            return self.repeat_or_stop(rules, Kind::Interrupted, retry, because);
        }
        let is_polling = self.trail.retry().is_some();
        let was_stable = rules.now.since(opened) >= rules.policy.stable_after;
        if via == Via::Resume && !fruitful {
            if is_polling {
                self.ledger.empty_polls += 1;
            } else if !was_stable {
                self.ledger.fruitless += 1;
            }
        }
        if is_polling { self.poll_again(rules, because) } else { self.resume_again(rules, because) }
    }

    /// Row 13: the server claims to poll, so its pace is kept and costs nothing.
    fn poll_again(&mut self, rules: &mut Rules<'_>, because: Reason) -> Step {
        let asked = self.trail.retry().unwrap_or_default();
        let doublings = self.ledger.empty_polls.saturating_sub(PATIENT_POLLS).min(16);
        let slowed = asked.max(SHORTEST_POLL).saturating_mul(1 << doublings);
        let pace = slowed.min(LONGEST_POLL).max(asked).max(SHORTEST_POLL);
        let wait = rules.dice.between(pace, pace.saturating_add(POLL_JITTER));
        if rules.now + asked >= self.deadline.at {
            return Ending::new(Kind::DeadlinePassed, because).with_retry_after(asked).into();
        }
        self.resume_at(rules.now + wait, because)
    }

    /// Rows 6 and 12: by backoff, until too many resumes in a row led nowhere.
    fn resume_again(&mut self, rules: &mut Rules<'_>, because: Reason) -> Step {
        if self.ledger.fruitless >= rules.policy.resumes {
            return stop(Kind::Exhausted, because);
        }
        let wait = rules.policy.backoff.full_jitter(self.ledger.fruitless, rules.dice);
        self.resume_at(rules.now + wait, because)
    }

    /// Rows 8 and 11: the resume itself was turned away, which costs an attempt.
    fn resume_later(
        &mut self,
        rules: &mut Rules<'_>,
        hint: Option<Duration>,
        because: Reason,
    ) -> Step {
        self.ledger.fruitless += 1;
        let hint = hint.max(self.trail.retry()).unwrap_or_default();
        if self.ledger.fruitless >= rules.policy.resumes {
            return self.repeat_or_stop(rules, Kind::Exhausted, Some(hint), because);
        }
        if rules.now + hint >= self.deadline.at {
            return Ending::new(Kind::Exhausted, because).with_retry_after(hint).into();
        }
        let wait = rules.policy.backoff.full_jitter(self.ledger.fruitless, rules.dice);
        self.resume_at(rules.now + wait.max(hint), because)
    }

    /// Row 14: not more than 1,000 times, whatever led to them.
    pub(crate) const fn may_resume(&self) -> bool {
        self.ledger.resumes < MOST_RESUMES
    }

    /// Row 14: no exchange resumes without end, nor twice within 100 ms.
    fn resume_at(&mut self, at: Moment, because: Reason) -> Step {
        match self.may_resume() {
            true => Step::Resume { at: at.max(self.earliest_resume()), because },
            false => stop(Kind::Exhausted, because),
        }
    }

    /// Row 14: not twice within 100 ms, whatever led to the second one.
    pub(crate) fn earliest_resume(&self) -> Moment {
        self.ledger.resumed_at.map_or(Moment::START, |last| last + SHORTEST_POLL)
    }

    /// The answer to a POST was read.
    pub(crate) fn post_answered(&mut self, rules: &mut Rules<'_>, reading: PostReading) -> Step {
        match reading {
            PostReading::Accepted => {
                self.ledger.note(Delivery::Unknown);
                Step::AwaitAnswer { until: rules.now + ANSWER_ELSEWHERE }
            }
            PostReading::Answer(answer) => Step::Finish(Ok(answer)),
            PostReading::Deferred { status, hint } => self.deferred(rules, status, hint),
            PostReading::Interrupted { status, hint } => {
                self.ledger.note(Delivery::Unknown);
                self.repeat_or_stop(rules, Kind::Interrupted, hint, Reason::Status(status))
            }
            PostReading::Misbehaved(why) => {
                self.ledger.note(Delivery::Unknown);
                stop(Kind::PeerMisbehaved, Reason::Rule(why))
            }
            PostReading::NeedsScope(scope) => self.needs_scope(scope),
            PostReading::Redirected(to, status) => self.redirected(to, status, Then::Send),
            PostReading::Rejected(status) => {
                let unknown = status.is_server_error();
                self.ledger.note(if unknown { Delivery::Unknown } else { Delivery::Refused });
                stop(Kind::Rejected { status: status.as_u16() }, Reason::Status(status))
            }
            PostReading::SessionLost => self.session_lost(),
            PostReading::Suspected(answer) => Step::CheckSuspicion(answer),
            PostReading::Unauthorized => self.unauthorized(Then::Send),
        }
    }

    /// Row 2: not run, come back later.
    fn deferred(
        &mut self,
        rules: &mut Rules<'_>,
        status: StatusCode,
        hint: Option<Duration>,
    ) -> Step {
        self.ledger.note(Delivery::Refused);
        let kind = Kind::Rejected { status: status.as_u16() };
        let ending = Ending::new(kind, Reason::Status(status));
        if self.ledger.resends >= rules.policy.resends {
            return Step::Finish(Err(Ending { retry_after: hint, ..ending }));
        }
        let backoff = rules.policy.backoff.full_jitter(self.ledger.resends, rules.dice);
        let wait = hint.unwrap_or(backoff);
        if rules.now + wait >= self.deadline.at {
            return ending.with_retry_after(wait).into();
        }
        let because = Reason::Status(status);
        Step::Resend { at: rules.now + wait, because, deferral: Some(status) }
    }

    /// Rows 3, 7, 8 (exhausted) and 10: what may have arrived is repeated only if that is safe.
    fn repeat_or_stop(
        &mut self,
        rules: &mut Rules<'_>,
        kind: Kind,
        hint: Option<Duration>,
        because: Reason,
    ) -> Step {
        let is_over = !rules.is_safe || self.ledger.resends >= rules.policy.resends;
        let hint = hint.unwrap_or_default();
        if !is_over && rules.now + hint < self.deadline.at {
            let wait = rules.policy.backoff.full_jitter(self.ledger.resends, rules.dice);
            return Step::Resend { at: rules.now + wait.max(hint), because, deferral: None };
        }
        let retry_after = (!hint.is_zero()).then_some(hint);
        Step::Finish(Err(Ending { retry_after, ..Ending::new(kind, because) }))
    }

    /// Row 5: once per call; a loss after that ends it and renews nothing.
    pub(crate) fn session_lost(&mut self) -> Step {
        self.ledger.note(Delivery::Refused);
        if self.ledger.session_renewed {
            return stop(Kind::SessionLost, Reason::Rule("lost again after it was renewed"));
        }
        self.ledger.session_renewed = true;
        Step::RenewSession
    }

    /// Row 22: once per call.
    fn unauthorized(&mut self, then: Then) -> Step {
        self.ledger.note(Delivery::Refused);
        if self.ledger.credentials_renewed {
            return stop(
                Kind::Unauthorized,
                Reason::Rule("refused again with renewed credentials"),
            );
        }
        self.ledger.credentials_renewed = true;
        Step::RenewCredentials { then, challenge: None }
    }

    /// Row 23: at most two rounds.
    fn needs_scope(&mut self, scope: Arc<str>) -> Step {
        self.ledger.note(Delivery::Refused);
        if self.ledger.step_ups >= MOST_STEP_UPS {
            return stop(Kind::Unauthorized, Reason::Said(scope));
        }
        self.ledger.step_ups += 1;
        Step::RenewCredentials { then: Then::Send, challenge: Some(Challenge::Scope(scope)) }
    }

    /// Row 24. Only 307 and 308 say that the request was passed on untouched.
    fn redirected(&mut self, to: Option<Redirect>, status: StatusCode, then: Then) -> Step {
        let is_untouched = matches!(status.as_u16(), 307 | 308);
        self.ledger.note(if is_untouched { Delivery::Refused } else { Delivery::Unknown });
        match follow(to, status, self.ledger.redirects) {
            Ok(path) => {
                self.ledger.redirects += 1;
                self.target = Some(path);
                Step::Retarget(then)
            }
            Err(reason) => stop(Kind::Rejected { status: status.as_u16() }, reason),
        }
    }

    /// The answer to a resume was read, and it is no stream.
    pub(crate) fn resume_answered(
        &mut self,
        rules: &mut Rules<'_>,
        reading: ResumeReading,
    ) -> Step {
        match reading {
            ResumeReading::Answer(answer) => Step::Finish(Ok(answer)),
            ResumeReading::Busy { status, hint } => {
                self.resume_later(rules, hint, Reason::Status(status))
            }
            ResumeReading::Empty => self.stream_broke(rules, Reason::Rule("the resume was empty")),
            ResumeReading::Gone { spoken } => self.stream_gone(rules, spoken),
            ResumeReading::Redirected(to, status) => self.redirected(to, status, Then::Resume),
            ResumeReading::Unauthorized => self.unauthorized(Then::Resume),
            ResumeReading::Unresumable(status) => {
                self.repeat_or_stop(rules, Kind::Interrupted, None, Reason::Status(status))
            }
        }
    }

    /// Row 9: the server forgot the stream, or a proxy had a gap in its routes.
    fn stream_gone(&mut self, rules: &mut Rules<'_>, spoken: bool) -> Step {
        let because = Reason::Rule("the server has forgotten the stream");
        if !spoken && !self.ledger.gap_waited && self.ledger.fruitless < rules.policy.resumes {
            self.ledger.gap_waited = true;
            let wait = rules.policy.backoff.full_jitter(self.ledger.fruitless, rules.dice);
            return self.resume_at(rules.now + wait, because);
        }
        let is_repeated = std::mem::replace(&mut self.ledger.repeated_after_gone, rules.is_safe);
        match rules.is_safe && !is_repeated && rules.policy.resends > 0 {
            true => Step::CheckSession,
            false => stop(Kind::Interrupted, because),
        }
    }
}

/// Row 24: the path to follow, or why not: only to the same origin, only by statuses that keep the
/// request as it is, only so often.
pub(crate) fn follow(
    to: Option<Redirect>,
    status: StatusCode,
    followed: u32,
) -> Result<Arc<str>, Reason> {
    let is_followed = matches!(status.as_u16(), 307 | 308) && followed < MOST_REDIRECTS;
    match to {
        Some(Redirect::SameOrigin(path)) if is_followed => Ok(path),
        Some(Redirect::SameOrigin(to) | Redirect::OtherOrigin(to)) => Err(Reason::Said(to)),
        None => Err(Reason::Status(status)),
    }
}

fn stop(kind: Kind, reason: Reason) -> Step {
    Ending::new(kind, reason).into()
}

/// Row 18.
const ANSWER_ELSEWHERE: Duration = Duration::from_secs(10);
/// Row 14.
const MOST_RESUMES: u32 = 1000;
/// Rows 13 and 14.
const SHORTEST_POLL: Duration = Duration::from_millis(100);
/// Row 13: the gap doubles after this many empty polls in a row …
const PATIENT_POLLS: u32 = 60;
/// … up to this.
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// Row 13.
const POLL_JITTER: Duration = Duration::from_millis(150);
/// Row 23.
pub(crate) const MOST_STEP_UPS: u32 = 2;
/// Row 24.
const MOST_REDIRECTS: u32 = 5;
