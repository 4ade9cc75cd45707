//! The rows about broken streams: resume, poll, send again, or stop.
//!
//! Attempts are counted by progress, not by accepted connections. Polls that the server paces itself
//! (`retry:`) cost nothing. Row 14 bounds everything.

use std::time::Duration;

use super::decide::stop;
use super::{Ending, Exchange, Phase, Rules, Step, Then, Via};
use crate::answer::ResumeReading;
use crate::failure::{Cause, Delivery, Failure};
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::rule::Rule;

impl Exchange {
    /// Decides after a stream that ended cleanly, without the answer.
    pub(crate) fn stream_ended(&mut self, rules: &mut Rules<'_>) -> Step {
        self.stream_broke(rules, Reason::Transport(Failure::unknown(Cause::Closed)))
    }

    /// Rows 6, 7, 12, 12s and 13: decides after a stream that broke.
    pub(super) fn stream_broke(&mut self, rules: &mut Rules<'_>, because: Reason) -> Step {
        self.counters.note(Delivery::Unknown);
        let Some(live) = self.live() else { return stop(Kind::Interrupted, because) };
        let (via, (opened, fruitful)) = (
            live.via,
            match live.phase {
                Phase::Stream { opened, fruitful, .. } => (opened, fruitful),
                _ => (rules.now, false),
            },
        );
        self.resume_state.stream_ended();
        if !rules.era.resumes_streams() || self.resume_state.last_event_id().is_none() {
            let retry = self.resume_state.retry();
            return self.repeat_or_stop(rules, Kind::Interrupted, retry, because);
        }
        let is_polling = self.resume_state.retry().is_some();
        let was_stable = rules.now.since(opened) >= rules.policy.stable_after;
        if via == Via::Resume && !fruitful {
            if is_polling {
                self.counters.empty_polls += 1;
            } else if !was_stable {
                self.counters.fruitless += 1;
            }
        }
        if is_polling { self.poll_again(rules, because) } else { self.resume_again(rules, because) }
    }

    /// Row 13: polls again. The server has set a pace by `retry:`, so this costs no attempt.
    fn poll_again(&mut self, rules: &mut Rules<'_>, because: Reason) -> Step {
        let asked = self.resume_state.retry().unwrap_or_default();
        let doublings = self.counters.empty_polls.saturating_sub(PATIENT_POLLS).min(16);
        let slowed = asked.max(SHORTEST_POLL).saturating_mul(1 << doublings);
        let pace = slowed.min(LONGEST_POLL).max(asked).max(SHORTEST_POLL);
        let wait = rules.rng.between(pace, pace.saturating_add(POLL_JITTER));
        if rules.now + asked >= self.deadline.at {
            return Ending::new(Kind::DeadlinePassed, because).with_retry_after(asked).into();
        }
        self.resume_at(rules.now + wait, because)
    }

    /// Rows 6 and 12: resumes after a backoff, until too many resumes in a row brought nothing.
    fn resume_again(&mut self, rules: &mut Rules<'_>, because: Reason) -> Step {
        if self.counters.fruitless >= rules.policy.resumes {
            return stop(Kind::Exhausted, because);
        }
        let wait = rules.policy.backoff.full_jitter(self.counters.fruitless, rules.rng);
        self.resume_at(rules.now + wait, because)
    }

    /// Rows 8 and 11: resumes later, after a refused resume, which costs an attempt.
    pub(super) fn resume_later(
        &mut self,
        rules: &mut Rules<'_>,
        hint: Option<Duration>,
        because: Reason,
    ) -> Step {
        self.counters.fruitless += 1;
        let hint = hint.max(self.resume_state.retry()).unwrap_or_default();
        if self.counters.fruitless >= rules.policy.resumes {
            return self.repeat_or_stop(rules, Kind::Exhausted, Some(hint), because);
        }
        if rules.now + hint >= self.deadline.at {
            return Ending::new(Kind::Exhausted, because).with_retry_after(hint).into();
        }
        let wait = rules.policy.backoff.full_jitter(self.counters.fruitless, rules.rng);
        self.resume_at(rules.now + wait.max(hint), because)
    }

    /// Row 14: whether there were fewer than 1,000 resumes.
    pub(crate) const fn may_resume(&self) -> bool {
        self.counters.resumes < MOST_RESUMES
    }

    /// Row 14: resumes at this moment, within the bounds on number and rate.
    fn resume_at(&mut self, at: Moment, because: Reason) -> Step {
        if self.may_resume() {
            Step::Resume { at: at.max(self.earliest_resume()), because }
        } else {
            stop(Kind::Exhausted, because)
        }
    }

    /// Row 14: returns when the next resume may go out, 100 ms after the last one.
    pub(crate) fn earliest_resume(&self) -> Moment {
        self.counters.resumed_at.map_or(Moment::START, |last| last + SHORTEST_POLL)
    }

    /// Decides after the answer to a resume that is no stream.
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
            ResumeReading::Empty => self.stream_broke(rules, Reason::Rule(Rule::ResumeEmpty)),
            ResumeReading::Gone { spoken } => self.stream_gone(rules, spoken),
            ResumeReading::Redirected(to, status) => self.redirected(to, status, Then::Resume),
            ResumeReading::Unauthorized(challenge) => {
                self.unauthorized(rules, Then::Resume, challenge)
            }
            ResumeReading::Unresumable(status) => {
                self.repeat_or_stop(rules, Kind::Interrupted, None, Reason::Status(status))
            }
        }
    }

    /// Row 9: decides after the server has forgotten the stream, or a proxy had a gap in its routes.
    fn stream_gone(&mut self, rules: &mut Rules<'_>, spoken: bool) -> Step {
        let because = Reason::Rule(Rule::StreamForgotten);
        if !spoken && !self.counters.gap_waited && self.counters.fruitless < rules.policy.resumes {
            self.counters.gap_waited = true;
            let wait = rules.policy.backoff.full_jitter(self.counters.fruitless, rules.rng);
            return self.resume_at(rules.now + wait, because);
        }
        let is_repeated = std::mem::replace(&mut self.counters.repeated_after_gone, rules.is_safe);
        if rules.is_safe && !is_repeated && rules.policy.resends > 0 {
            Step::CheckSession
        } else {
            stop(Kind::Interrupted, because)
        }
    }
}

/// Row 14: the most resumes of one exchange.
const MOST_RESUMES: u32 = 1000;
/// Rows 13 and 14: the shortest gap between resumes.
const SHORTEST_POLL: Duration = Duration::from_millis(100);
/// Row 13: how many empty polls in a row pass before the gap doubles.
const PATIENT_POLLS: u32 = 60;
/// Row 13: the longest gap that doubling leads to.
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// Row 13: the jitter of a poll.
const POLL_JITTER: Duration = Duration::from_millis(150);
