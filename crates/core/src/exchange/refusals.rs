//! The rows about refusals: the server, or what stands before it, says that the request is not to be carried
//! out as it is.
//!
//! What the refusal proves comes with its reading. A proven one may be followed by another send of any
//! request; without proof only a request that does no harm twice goes out again.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::decide::stop;
use super::{Ending, Exchange, Rules, Step, Then};
use crate::answer::{PostReading, status};
use crate::failure::Delivery;
use crate::head::{Challenge, Redirect};
use crate::outcome::{Kind, Reason};
use crate::policy::RetryPolicy;
use crate::rule::Rule;

impl Exchange {
    /// Row 2: decides after a request that is to come back later, and says by `delivery` whether it may have
    /// run.
    pub(super) fn deferred(
        &mut self,
        rules: &mut Rules<'_>,
        status: StatusCode,
        hint: Option<Duration>,
        delivery: Delivery,
    ) -> Step {
        self.counters.note(delivery);
        let is_proven = delivery == Delivery::Refused;
        let kind = if is_proven { Kind::rejected(status) } else { Kind::Interrupted };
        let ending = Ending::new(kind, Reason::Status(status));
        if !self.may_follow_a_refusal(rules, is_proven) {
            return Step::Finish(Err(Ending { retry_after: hint, ..ending }));
        }
        let backoff = rules.policy.backoff.full_jitter(self.counters.resends, rules.rng);
        let wait = self.deferral(rules.policy, hint, backoff);
        if !self.is_patient(rules, wait) {
            return Step::Finish(Err(Ending { retry_after: hint, ..ending }));
        }
        if rules.now + wait >= self.deadline.at {
            return ending.with_retry_after(wait).into();
        }
        let because = Reason::Status(status);
        Step::Resend { at: rules.now + wait, because, deferral: Some(status) }
    }

    /// Row 2: returns how long a server is left alone that asked for time. `hint` is the time that it named, and
    /// `backoff` the time to wait without one.
    pub(crate) fn deferral(
        &self,
        policy: &RetryPolicy,
        hint: Option<Duration>,
        backoff: Duration,
    ) -> Duration {
        match hint {
            // A server that keeps saying "at once" is not believed for ever.
            Some(hint) if self.counters.resends >= policy.resends => hint.max(backoff),
            Some(hint) => hint,
            None => backoff,
        }
    }

    /// Row 5: decides after the server has refused the call because its session is lost. The session is
    /// renewed once per call; a second loss ends the call and renews nothing.
    pub(crate) fn session_lost(&mut self, rules: &Rules<'_>) -> Step {
        self.counters.note(Delivery::Refused);
        if !self.may_follow_a_refusal(rules, true) {
            return stop(Kind::SessionLost, Reason::Rule(Rule::AfterRedirect));
        }
        if self.counters.session_renewed {
            return stop(Kind::SessionLost, Reason::Rule(Rule::LostAgain));
        }
        self.counters.session_renewed = true;
        Step::RenewSession
    }

    /// Row 5: decides when it is unknown whether the session is lost. A request that may be repeated goes out
    /// in a new one; for any other, the answer stands, and the server may have run it.
    pub(crate) fn session_unknown(
        &mut self,
        rules: &mut Rules<'_>,
        otherwise: PostReading,
    ) -> Step {
        self.counters.note(Delivery::Unknown);
        let is_repeated = std::mem::replace(&mut self.counters.session_renewed, true);
        if rules.is_safe && !is_repeated {
            Step::RenewSession
        } else {
            self.post_answered(rules, otherwise)
        }
    }

    /// Row 22: decides after a refusal without a challenge, of which it was found out whether the server
    /// refuses a harmless request under these credentials likewise.
    pub(crate) fn credentials_judged(&mut self, rules: &Rules<'_>, is_confirmed: bool) -> Step {
        if is_confirmed {
            self.counters.note(Delivery::Refused);
            return self.unauthorized(rules, Then::Send, None);
        }
        self.counters.note(Delivery::Unknown);
        if !rules.is_safe || self.counters.credentials_renewed {
            return stop(Kind::Unauthorized, Reason::Rule(Rule::NotRefusedLikewise));
        }
        self.counters.credentials_renewed = true;
        Step::RenewCredentials { then: Then::Send, challenge: None, is_suspicion: true }
    }

    /// Row 22: renews the credentials, once per call.
    pub(super) fn unauthorized(
        &mut self,
        rules: &Rules<'_>,
        then: Then,
        challenge: Option<Challenge>,
    ) -> Step {
        if !self.may_follow_a_refusal(rules, true) {
            return stop(Kind::Unauthorized, Reason::Rule(Rule::AfterRedirect));
        }
        if self.counters.credentials_renewed {
            return stop(Kind::Unauthorized, Reason::Rule(Rule::RefusedRenewed));
        }
        self.counters.credentials_renewed = true;
        Step::RenewCredentials { then, challenge, is_suspicion: false }
    }

    /// Row 23: asks for more scope, at most twice.
    pub(super) fn needs_scope(&mut self, rules: &Rules<'_>, challenge: Challenge) -> Step {
        self.counters.note(Delivery::Refused);
        if !self.may_follow_a_refusal(rules, true) {
            return stop(Kind::Unauthorized, Reason::Rule(Rule::AfterRedirect));
        }
        if self.counters.step_ups >= MOST_STEP_UPS {
            let scope = challenge.missing_scope().cloned().unwrap_or_default();
            return stop(Kind::Unauthorized, Reason::Said(scope));
        }
        self.counters.step_ups += 1;
        Step::RequestScope(challenge)
    }

    /// Whether a request may be sent again after a refusal that proves, or not, that it was not carried out.
    /// After a redirect no refusal proves it: a page configured over errors redirects, too, once the request
    /// has run.
    pub(crate) fn may_follow_a_refusal(&self, rules: &Rules<'_>, is_proven: bool) -> bool {
        rules.is_safe || (is_proven && self.counters.redirects == 0)
    }

    /// Row 24: stops, because what redirected may have run the request before its target refused it.
    pub(crate) fn refused_after_a_redirect() -> Step {
        stop(Kind::Interrupted, Reason::Rule(Rule::AfterRedirect))
    }

    /// Row 24: follows a redirect. Only 307 and 308 keep the request as it is, and what answers at the target
    /// decides alone: without an answer, the server that redirected may have run the request.
    pub(super) fn redirected(
        &mut self,
        to: Option<Redirect>,
        status: StatusCode,
        then: Then,
    ) -> Step {
        self.counters.note(Delivery::Unknown);
        match follow(to, status, self.counters.redirects) {
            Ok(path) => {
                self.counters.redirects += 1;
                self.target = Some(path);
                Step::Again(then)
            }
            Err(reason) => stop(Kind::rejected(status), reason),
        }
    }
}

/// Row 24: returns the path to follow, or why not. A redirect is followed only within its origin, only by
/// statuses that keep the request as it is, and only a limited number of times.
pub(crate) fn follow(
    to: Option<Redirect>,
    status: StatusCode,
    followed: u32,
) -> Result<Arc<str>, Reason> {
    let is_followed = status::keeps_the_request(status) && followed < MOST_REDIRECTS;
    match to {
        Some(Redirect::SameOrigin(path)) if is_followed => Ok(path),
        Some(to) => Err(Reason::Elsewhere(to.shown().into())),
        None => Err(Reason::Status(status)),
    }
}

/// Row 23: how many times more scope is asked for.
pub(crate) const MOST_STEP_UPS: u32 = 2;
/// Row 24: how many redirects are followed.
const MOST_REDIRECTS: u32 = 5;
