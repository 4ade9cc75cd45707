//! The decision table: from what happened to the next step.
//!
//! There is one method per thing that can happen, and each names its rows. Nothing here reads a clock, sends
//! a byte or knows the link; the [`Counters`](super::Counters) say what may still be tried.

use std::time::Duration;

use http::StatusCode;
use ridethrough_wire::era::Era;
use ridethrough_wire::message::Answer;

use super::{Exchange, HeldBack, NonAnswer, Phase, Then, Via};
use crate::answer::PostReading;
use crate::failure::{Cause, Delivery, Failure};
use crate::head::Challenge;
use crate::moment::Moment;
use crate::outcome::{Kind, Reason};
use crate::policy::RetryPolicy;
use crate::rng::Rng;
use crate::rule::Rule;

/// The next step of an exchange.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Rows 22 and 24, and L16: ask again at once, at a new path or in a new era.
    Again(Then),
    /// Row 18: wait for the answer on any stream.
    AwaitAnswer { until: Moment },
    /// Row 1: wait for a connection, then go on.
    AwaitLink(Then, Failure),
    /// Row 9: ask whether the session is alive, then send again. The budget was already charged.
    CheckSession,
    /// Check whether the answer means what it says before it is used.
    Doubt(HeldBack),
    /// Row 22: check whether a harmless request is refused likewise under these credentials.
    DoubtCredentials,
    /// End the exchange.
    Finish(Result<Answer, Ending>),
    /// Row 22: get the credentials that the server asked for, then go on. On a suspicion, the server takes those
    /// in force for other requests.
    RenewCredentials { then: Then, challenge: Option<Challenge>, is_suspicion: bool },
    /// Row 5: renew the session, then send again.
    RenewSession,
    /// Row 23: get more scope, then send again.
    RequestScope(Challenge),
    /// Rows 2, 3 and 7: send again at that moment, charged to the budget.
    ///
    /// `deferral` is the status by which the server asked for this time, for which other calls wait too.
    Resend { at: Moment, because: Reason, deferral: Option<StatusCode> },
    /// Rows 6, 8, 9, 11, 12 and 13: resume the stream at that moment.
    Resume { at: Moment, because: Reason },
}

/// The end of an exchange without an answer.
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

    /// Returns the ending for a peer that broke the protocol or a size limit.
    pub(crate) fn of_misbehaviour(failure: Failure) -> Self {
        let kind = match failure.cause {
            Cause::TooLarge => Kind::TooLarge,
            _ => Kind::PeerMisbehaved,
        };
        Self::new(kind, Reason::Transport(failure))
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
    pub(crate) policy: &'a RetryPolicy,
    pub(crate) rng: &'a mut Rng,
    /// Whether the request may be sent again once it may have arrived.
    pub(crate) is_safe: bool,
    /// Whether a connect of this link has ever succeeded.
    pub(crate) connected_before: bool,
}

impl Exchange {
    /// Decides after an attempt that failed below HTTP, or whose stream was cut.
    pub(crate) fn attempt_failed(&mut self, rules: &mut Rules<'_>, failure: Failure) -> Step {
        let Some(live) = self.live() else { return stop(Kind::Interrupted, Reason::Nothing) };
        let (via, is_asked) = (live.via, matches!(live.phase, Phase::Asked));
        if failure.cause.is_misbehaviour() {
            let what = NonAnswer::Unreadable { cause: failure.cause, is_head: is_asked };
            return self.not_answered(rules, what, Ending::of_misbehaviour(failure));
        }
        if is_asked && failure.delivery == Delivery::NotSent {
            return self.not_connected(rules, via, failure);
        }
        match (via, &live.phase) {
            (_, Phase::Stream { .. }) => self.stream_broke(rules, Reason::Transport(failure)),
            (Via::Resume, _) => self.resume_later(rules, None, Reason::Transport(failure)),
            // Row 3 before the head and row 7 within a body leave equal doubt.
            (Via::Post, _) => {
                self.counters.note(Delivery::Unknown);
                self.repeat_or_stop(rules, Kind::Interrupted, None, Reason::Transport(failure))
            }
        }
    }

    /// Rows 1 and 1p: decides after a failure before anything was sent.
    fn not_connected(&mut self, rules: &Rules<'_>, via: Via, failure: Failure) -> Step {
        self.counters.note(Delivery::NotSent);
        if failure.cause == Cause::Withheld {
            return Step::Again(Then::Send);
        }
        if failure.cause.is_lasting(rules.connected_before) {
            return stop(Kind::Unreachable, Reason::Transport(failure));
        }
        let then = match via {
            Via::Post => Then::Send,
            Via::Resume => Then::Resume,
        };
        Step::AwaitLink(then, failure)
    }

    /// Decides after the answer to a POST.
    pub(crate) fn post_answered(&mut self, rules: &mut Rules<'_>, reading: PostReading) -> Step {
        match reading {
            // In the modern era no other stream can bring the answer.
            PostReading::Accepted if rules.era == Era::Modern => {
                self.never_answered(rules, Rule::AcceptedUnanswered)
            }
            PostReading::Accepted => {
                self.counters.note(Delivery::Unknown);
                Step::AwaitAnswer { until: rules.now + ANSWER_ELSEWHERE }
            }
            // What redirected may have run the request: only an answer that names it ends that doubt.
            PostReading::Answer(_) if !self.is_named && !self.may_follow_a_refusal(rules, true) => {
                Self::refused_after_a_redirect()
            }
            PostReading::Answer(answer) => match self.trouble_without_a_name(&answer) {
                Some(ending) => {
                    or_answer(self.not_answered(rules, self.page(), ending), Some(answer))
                }
                None => Step::Finish(Ok(answer)),
            },
            PostReading::Deferred { status, hint, answer, delivery } => {
                or_answer(self.deferred(rules, status, hint, delivery), answer)
            }
            PostReading::Interrupted { status, hint } => {
                self.counters.note(Delivery::Unknown);
                self.repeat_or_stop(rules, Kind::Interrupted, hint, Reason::Status(status))
            }
            PostReading::Misbehaved(why) => {
                let ending = Ending::new(Kind::PeerMisbehaved, Reason::Rule(why));
                self.not_answered(rules, self.page(), ending)
            }
            PostReading::NeedsScope { challenge, answer } => {
                or_answer(self.needs_scope(rules, challenge), answer)
            }
            PostReading::Redirected(to, status) => self.redirected(to, status, Then::Send),
            PostReading::Rejected(status, _) if status.is_server_error() => {
                let ending = Ending::new(Kind::rejected(status), Reason::Status(status));
                self.not_answered(rules, self.page(), ending)
            }
            PostReading::Rejected(status, delivery) => {
                self.counters.note(delivery);
                stop(Kind::rejected(status), Reason::Status(status))
            }
            PostReading::Suspected(suspicion) => Step::Doubt(HeldBack::Session(*suspicion)),
            PostReading::Unauthorized { challenge: None, .. } => Step::DoubtCredentials,
            PostReading::Unauthorized { challenge, answer } => {
                self.counters.note(Delivery::Refused);
                or_answer(self.unauthorized(rules, Then::Send, challenge), answer)
            }
        }
    }

    /// Row 4: decides after a refusal whose body broke off. The body might have told of a lost session, or of
    /// a form to be mended, so a request that may be repeated is.
    pub(crate) fn refusal_broke(&mut self, rules: &mut Rules<'_>, reading: PostReading) -> Step {
        match reading {
            PostReading::Rejected(status, delivery) if status.is_client_error() => {
                self.counters.note(delivery);
                self.repeat_or_stop(rules, Kind::rejected(status), None, Reason::Status(status))
            }
            // The connection that could be asked is gone, and another may lead to another replica.
            PostReading::Suspected(suspicion) => self.session_unknown(rules, suspicion.otherwise),
            told => self.post_answered(rules, told),
        }
    }

    /// Row 18: decides when no answer has followed on any stream.
    pub(crate) fn never_answered(&mut self, rules: &mut Rules<'_>, why: Rule) -> Step {
        let ending = Ending::new(Kind::PeerMisbehaved, Reason::Rule(why));
        self.not_answered(rules, NonAnswer::Accepted, ending)
    }

    /// Returns how a call ends with an error under a 5xx that does not name it, which something on the way may have
    /// written. It is the answer if the call is not sent again.
    fn trouble_without_a_name(&self, answer: &Answer) -> Option<Ending> {
        let Phase::Body(head) = &self.live()?.phase else { return None };
        let is_nameless = !self.is_named && matches!(answer, Answer::Error(_));
        let status = head.status;
        (is_nameless && status.is_server_error())
            .then(|| Ending::new(Kind::rejected(status), Reason::Status(status)))
    }

    /// Returns what came in place of an answer.
    fn page(&self) -> NonAnswer {
        NonAnswer::Page(self.live().and_then(|live| match &live.phase {
            Phase::Body(head) => Some((head.status, head.content)),
            Phase::Asked | Phase::Stream { .. } => None,
        }))
    }

    /// Rows 4, 16 and 18: repeats a call that does no harm twice after something that is no answer, until that
    /// is clearly all that there is to come; else stops.
    fn not_answered(&mut self, rules: &mut Rules<'_>, what: NonAnswer, ending: Ending) -> Step {
        self.counters.note(Delivery::Unknown);
        let is_enough = self.counters.non_answers.is_enough(rules.now, what);
        if is_enough || !self.origin.is_application() {
            return ending.into();
        }
        self.repeat_or_stop(rules, ending.kind, self.hinted(), ending.reason)
    }

    /// Rows 3, 7, 8 (exhausted) and 10: repeats a request that may have arrived if that is safe, else stops.
    pub(super) fn repeat_or_stop(
        &mut self,
        rules: &mut Rules<'_>,
        kind: Kind,
        hint: Option<Duration>,
        because: Reason,
    ) -> Step {
        let hint = hint.unwrap_or_default();
        let wait = rules.policy.backoff.full_jitter(self.counters.resends, rules.rng).max(hint);
        let is_over = !rules.is_safe || !self.is_patient(rules, wait);
        self.counters.not_before = rules.now + hint;
        if !is_over && rules.now + hint < self.deadline.at {
            return Step::Resend { at: rules.now + wait, because, deferral: None };
        }
        let retry_after = (!hint.is_zero()).then_some(hint);
        Step::Finish(Err(Ending { retry_after, ..Ending::new(kind, because) }))
    }

    /// Whether the call may be sent again after this wait. Patience is a time, but a few resends are always
    /// tried, for a call that first met trouble long ago.
    pub(super) fn is_patient(&mut self, rules: &Rules<'_>, wait: Duration) -> bool {
        let since = *self.counters.troubled_since.get_or_insert(rules.now);
        let is_in_time = rules.now + wait <= since + rules.policy.patience;
        rules.policy.resends > 0 && (is_in_time || self.counters.resends < rules.policy.resends)
    }
}

/// Replaces an ending by the server's answer, if its refusal carried one.
fn or_answer(step: Step, answer: Option<Answer>) -> Step {
    match (step, answer) {
        (Step::Finish(Err(_)), Some(answer)) => Step::Finish(Ok(answer)),
        (step, _) => step,
    }
}

pub(super) fn stop(kind: Kind, reason: Reason) -> Step {
    Ending::new(kind, reason).into()
}

/// Row 18: how long the answer may take to come on another stream.
const ANSWER_ELSEWHERE: Duration = Duration::from_secs(10);
