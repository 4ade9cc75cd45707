//! The retry policy: how long and how often to try, checked once.
//!
//! A policy holds settings only; counters are kept where they are counted. Every default has its reason
//! beside it, and the builder reports all invalid settings together.

use std::fmt;
use std::time::Duration;

use crate::answer::Unexecuted;
use crate::backoff::Window;
use crate::replay::TrustHints;

/// The settings of recovery for one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    pub(crate) tool_deadline: Duration,
    pub(crate) deadline: Duration,
    pub(crate) patience: Duration,
    pub(crate) first_patience: Duration,
    pub(crate) backoff: Window,
    pub(crate) resumes: u32,
    pub(crate) resends: u32,
    pub(crate) stable_after: Duration,
    pub(crate) in_flight: usize,
    pub(crate) assume_unexecuted: Vec<Unexecuted>,
    pub(crate) trust_hints: TrustHints,
    pub(crate) learn_hints: bool,
}

impl RetryPolicy {
    /// Returns how many calls may be in flight at once.
    pub const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns the time of a `tools/call` that names none.
    pub const fn tool_deadline(&self) -> Duration {
        self.tool_deadline
    }

    /// Returns the defaults, for a person who waits.
    pub fn interactive() -> Self {
        Self {
            // Every call has a deadline, so that none hangs; tools may take long.
            tool_deadline: Duration::from_secs(600),
            deadline: Duration::from_secs(60),
            // A restart takes seconds, a deployment half a minute.
            patience: Duration::from_secs(30),
            // Before the first success a wrong address is likelier than an outage.
            first_patience: Duration::from_secs(10),
            backoff: Window { first: Duration::from_millis(100), most: Duration::from_secs(10) },
            // 12 s on average, 23 s at most: a stream without progress ends in under 30 s.
            resumes: 8,
            resends: 3,
            // A stream that keeps breaking must not become a hot loop.
            stable_after: Duration::from_secs(5),
            in_flight: 256,
            assume_unexecuted: Vec::new(),
            trust_hints: TrustHints::ReadOnly,
            // An application that calls no tools must not cause traffic, and most list their tools first.
            learn_hints: false,
        }
    }

    /// Returns a policy for work without a waiting person: it outlasts an outage of half an hour.
    pub fn unattended() -> Self {
        let hour = Duration::from_secs(3600);
        Self {
            tool_deadline: hour,
            deadline: hour,
            patience: hour / 2,
            first_patience: hour / 2,
            ..Self::interactive()
        }
    }

    /// Returns a policy of one attempt. What the server refused (a lost session, a 401) or asked for
    /// (polling) is still handled.
    pub fn never() -> Self {
        Self {
            patience: Duration::ZERO,
            first_patience: Duration::ZERO,
            resumes: 0,
            resends: 0,
            ..Self::interactive()
        }
    }

    /// Creates a builder that starts from this policy.
    pub const fn builder(self) -> PolicyBuilder {
        PolicyBuilder { policy: self }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::interactive()
    }
}

/// Changes to a policy, checked together by [`PolicyBuilder::build`].
#[derive(Clone, Debug)]
#[must_use]
pub struct PolicyBuilder {
    policy: RetryPolicy,
}

impl PolicyBuilder {
    /// Sets the deadline of a `tools/call` that names none; 10 minutes by default.
    pub const fn tool_deadline(mut self, deadline: Duration) -> Self {
        self.policy.tool_deadline = deadline;
        self
    }

    /// Sets the deadline of any other call that names none; 60 s by default.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.policy.deadline = deadline;
        self
    }

    /// Sets how long a call waits, in all, for a connection or a session; 30 s by default.
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.policy.patience = patience;
        self
    }

    /// Sets how long a call waits before the first connect has ever succeeded; 10 s by default.
    pub const fn first_patience(mut self, patience: Duration) -> Self {
        self.policy.first_patience = patience;
        self
    }

    /// Sets the window of waits before resumes and resends; 100 ms to 10 s by default.
    pub const fn backoff(mut self, window: Window) -> Self {
        self.policy.backoff = window;
        self
    }

    /// Sets how many resumes in a row may bring no progress; 8 by default.
    pub const fn resumes(mut self, resumes: u32) -> Self {
        self.policy.resumes = resumes;
        self
    }

    /// Sets how many resends a call may have; 3 by default.
    pub const fn resends(mut self, resends: u32) -> Self {
        self.policy.resends = resends;
        self
    }

    /// Sets how long a stream must stay open for its end to count as an intermediary's time limit; 5 s by
    /// default.
    pub const fn stable_after(mut self, time: Duration) -> Self {
        self.policy.stable_after = time;
        self
    }

    /// Sets how many calls may be in flight at once, while the rest wait in order; 256 by default.
    pub const fn in_flight(mut self, calls: usize) -> Self {
        self.policy.in_flight = calls;
        self
    }

    /// Sets the refusals that, as the operator declares, this server sends only for requests it did not run;
    /// none by default. After 408, 502, 503, 504 and `503+hint` a call is then sent again; of any other 4xx
    /// only the words change.
    pub fn assume_unexecuted(
        mut self,
        refusals: impl IntoIterator<Item = impl Into<Unexecuted>>,
    ) -> Self {
        self.policy.assume_unexecuted = refusals.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which of a tool's annotations are believed; `readOnlyHint` by default.
    pub const fn trust_hints(mut self, trust: TrustHints) -> Self {
        self.policy.trust_hints = trust;
        self
    }

    /// Sets whether the link asks for the list of tools itself where the application does not: once it is idle after
    /// it has connected, and after the list has changed. Without the list no tool is known to be harmless, and no
    /// call that may have run is repeated. Off by default; a program that speaks for others should switch it on.
    pub const fn learn_hints(mut self, learns: bool) -> Self {
        self.policy.learn_hints = learns;
        self
    }

    /// Checks all settings, and reports all that are out of bounds.
    pub fn build(self) -> Result<RetryPolicy, PolicyError> {
        let policy = self.policy;
        let mut faults = Faults::default();
        let second = Duration::from_secs(1);
        let year = Duration::from_secs(365 * 24 * 3600);
        faults.time("tool_deadline", policy.tool_deadline, second / 1000, year);
        faults.time("deadline", policy.deadline, second / 1000, year);
        faults.time("patience", policy.patience, Duration::ZERO, year);
        faults.time("first_patience", policy.first_patience, Duration::ZERO, year);
        faults.time("backoff.first", policy.backoff.first, second / 100, 60 * second);
        faults.time("backoff.most", policy.backoff.most, policy.backoff.first, 3600 * second);
        faults.time("stable_after", policy.stable_after, second / 10, 3600 * second);
        faults.number("resumes", policy.resumes as usize, 0, 100);
        faults.number("resends", policy.resends as usize, 0, 10);
        faults.number("in_flight", policy.in_flight, 1, 100_000);
        for assumed in &policy.assume_unexecuted {
            let bound = "502, 503, 503+hint, 504 or a 4xx";
            faults.check("assume_unexecuted", assumed.is_allowed(), &assumed.to_string(), bound);
        }
        if faults.0.is_empty() { Ok(policy) } else { Err(PolicyError { faults: faults.0 }) }
    }
}

/// All faults in a policy, each with field, value and bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    faults: Vec<String>,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.faults.join("; "))
    }
}

impl std::error::Error for PolicyError {}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn time(&mut self, field: &str, value: Duration, least: Duration, most: Duration) {
        let is_within = (least..=most).contains(&value);
        self.check(field, is_within, &format!("{value:?}"), &format!("{least:?} to {most:?}"));
    }

    fn number(&mut self, field: &str, value: usize, least: usize, most: usize) {
        let is_within = (least..=most).contains(&value);
        self.check(field, is_within, &value.to_string(), &format!("{least} to {most}"));
    }

    fn check(&mut self, field: &str, is_right: bool, value: &str, bound: &str) {
        if !is_right {
            self.0.push(format!("`{field}` is {value}, must be {bound}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let policy = RetryPolicy::default();

        assert_eq!(policy.backoff.first, Duration::from_millis(100));
        assert_eq!(policy.backoff.most, Duration::from_secs(10));
        assert_eq!((policy.resumes, policy.resends, policy.in_flight), (8, 3, 256));
        assert_eq!(policy.stable_after, Duration::from_secs(5));
        assert_eq!(policy.tool_deadline, Duration::from_secs(600));
        assert_eq!(policy.deadline, Duration::from_secs(60));
        assert_eq!(policy.patience, Duration::from_secs(30));
        assert_eq!(policy.first_patience, Duration::from_secs(10));
    }

    #[test]
    fn unattended_waits_half_an_hour_and_gives_every_method_an_hour() {
        let policy = RetryPolicy::unattended();

        assert_eq!(policy.patience, Duration::from_secs(1800));
        assert_eq!(policy.deadline, Duration::from_secs(3600));
        assert_eq!(policy.tool_deadline, Duration::from_secs(3600));
    }

    #[test]
    fn every_preset_passes_its_own_check() {
        for policy in [RetryPolicy::interactive(), RetryPolicy::unattended(), RetryPolicy::never()]
        {
            assert_eq!(policy.clone().builder().build(), Ok(policy));
        }
    }

    #[test]
    fn a_builder_names_everything_that_is_wrong_at_once() {
        let error = RetryPolicy::default()
            .builder()
            .in_flight(0)
            .resumes(5000)
            .assume_unexecuted([StatusCode::OK])
            .build()
            .unwrap_err();

        assert_eq!(
            error.to_string(),
            "`resumes` is 5000, must be 0 to 100; `in_flight` is 0, must be 1 to 100000; \
             `assume_unexecuted` is 200, must be 502, 503, 503+hint, 504 or a 4xx"
        );
    }
}
