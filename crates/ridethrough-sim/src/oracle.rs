//! What must hold, whatever the world does.
//!
//! The oracle stands outside the machine: it sees what the server ran, what went over the wire and
//! how each call ended, and knows nothing of how the machine decides.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ridethrough_core::message::Answer;
use ridethrough_core::{Delivery, Kind, Moment, Outcome};

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The world it happened in.
    pub seed: u64,
    /// What was promised.
    pub promise: &'static str,
    /// What happened instead.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}: {}", self.seed, self.promise, self.what)
    }
}

/// The history of one world.
#[derive(Debug)]
pub(crate) struct Oracle {
    seed: u64,
    calls: BTreeMap<u64, Call>,
    pub(crate) violations: Vec<Violation>,
    handshakes_out: u32,
    /// Executions that the server denied.
    pub(crate) lies: u64,
    pub(crate) executions: u64,
}

/// What is known of one call.
#[derive(Debug)]
struct Call {
    is_safe: bool,
    began: Moment,
    deadline: Duration,
    /// Each execution, by the session generation it was asked under.
    executions: Vec<u64>,
    lies: usize,
    arrivals: u32,
    /// The newest session generation it arrived under.
    generation: u64,
    resumes: u32,
    last_resume: Option<Moment>,
    /// The server asked to be left alone with this call until then.
    not_before: Moment,
    is_over: bool,
}

impl Oracle {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            calls: BTreeMap::new(),
            violations: Vec::new(),
            handshakes_out: 0,
            lies: 0,
            executions: 0,
        }
    }

    pub(crate) fn begun(&mut self, call: u64, is_safe: bool, now: Moment, deadline: Duration) {
        let history = Call {
            is_safe,
            began: now,
            deadline,
            executions: Vec::new(),
            lies: 0,
            arrivals: 0,
            generation: 0,
            resumes: 0,
            last_resume: None,
            not_before: Moment::START,
            is_over: false,
        };
        self.calls.insert(call, history);
    }

    /// The machine sent the request of a call.
    pub(crate) fn posted(&mut self, call: u64, now: Moment) {
        let Some(history) = self.calls.get(&call) else { return };
        let (is_over, not_before) = (history.is_over, history.not_before);
        if is_over {
            self.broken("nothing follows the outcome", format!("call {call} was sent again"));
        }
        if now < not_before {
            self.broken(
                "hints are never undercut",
                format!("call {call} sent at {now}, asked for {not_before}"),
            );
        }
    }

    /// The server took the request in, under this session generation.
    pub(crate) fn arrived(&mut self, call: u64, generation: u64) {
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.arrivals += 1;
        let arrivals = history.arrivals;
        let before = std::mem::replace(&mut history.generation, generation);
        if generation < before {
            self.broken(
                "a call never goes back to an older session",
                format!("call {call} went from generation {before} to {generation}"),
            );
        }
        // The first send, 3 re-sends, one each for a renewed session, for renewed credentials and
        // for a stream that was gone.
        if arrivals > 7 {
            self.broken("attempts are bounded", format!("call {call} arrived {arrivals} times"));
        }
    }

    /// The server ran the call that last arrived.
    pub(crate) fn executed(&mut self, call: u64) {
        self.executions += 1;
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.executions.push(history.generation);
        let honest = history.executions.len().saturating_sub(history.lies);
        if !history.is_safe && honest > 1 {
            let runs = format!("call {call} ran under generations {:?}", history.executions);
            self.broken("an unsafe call runs once", runs);
        }
    }

    /// The server ran a request and said that it did not.
    pub(crate) fn lied(&mut self, call: u64) {
        self.lies += 1;
        if let Some(history) = self.calls.get_mut(&call) {
            history.lies += 1;
        }
    }

    pub(crate) fn deferred(&mut self, call: u64, until: Moment) {
        if let Some(history) = self.calls.get_mut(&call) {
            history.not_before = until;
        }
    }

    pub(crate) fn resumed(&mut self, call: u64, now: Moment) {
        let Some(history) = self.calls.get_mut(&call) else { return };
        let gap = history.last_resume.replace(now).map(|last| now.since(last));
        history.resumes += 1;
        let (resumes, is_over) = (history.resumes, history.is_over);
        if gap.is_some_and(|gap| gap < Duration::from_millis(100)) {
            self.broken("no two resumes within 100 ms", format!("call {call}, gap {gap:?}"));
        }
        if resumes > 1000 {
            self.broken("at most 1,000 resumes", format!("call {call}: {resumes}"));
        }
        if is_over {
            self.broken("nothing follows the outcome", format!("call {call} was resumed"));
        }
    }

    pub(crate) fn handshake_began(&mut self) {
        self.handshakes_out += 1;
        if self.handshakes_out > 1 {
            self.broken("one renewal at a time", format!("{} are out", self.handshakes_out));
        }
    }

    pub(crate) const fn handshake_ended(&mut self) {
        self.handshakes_out = self.handshakes_out.saturating_sub(1);
    }

    /// The call ended.
    pub(crate) fn ended(&mut self, call: u64, now: Moment, outcome: &Outcome) {
        let Some(history) = self.calls.get_mut(&call) else { return };
        let is_second = std::mem::replace(&mut history.is_over, true);
        let elapsed = now.since(history.began);
        let (deadline, lies) = (history.deadline, history.lies);
        let executions = history.executions.len();
        if is_second {
            self.broken("exactly one outcome", format!("call {call} ended again"));
        }
        if elapsed > deadline + Duration::from_secs(1) {
            self.broken("never past the deadline", format!("call {call} took {elapsed:?}"));
        }
        match outcome {
            Ok(Answer::Result(result)) => {
                let expected = format!(r#"{{"call":{call}}}"#);
                if result.as_str() != expected {
                    self.broken("answers are never mixed", format!("call {call} got another's"));
                }
            }
            Ok(Answer::Error(_)) => {}
            Err(error) if error.delivery != Delivery::Unknown && executions > lies => {
                self.broken(
                    "an error says whether the server may have run it",
                    format!("call {call} ran, and ended {:?} {:?}", error.kind, error.delivery),
                );
            }
            Err(_) => {}
        }
    }

    /// The world is over.
    pub(crate) fn closed(&mut self) {
        let open: Vec<u64> =
            self.calls.iter().filter(|(_, call)| !call.is_over).map(|(call, _)| *call).collect();
        for call in open {
            self.broken("every call ends", format!("call {call} never did"));
        }
    }

    pub(crate) fn broken(&mut self, promise: &'static str, what: String) {
        self.violations.push(Violation { seed: self.seed, promise, what });
    }

    /// Whether a call that ended so may be tried again by the application while it heals.
    pub(crate) const fn is_passing(kind: Kind) -> bool {
        !matches!(kind, Kind::Closed | Kind::Incompatible)
    }
}

#[cfg(test)]
mod tests {
    use ridethrough_core::message::Json;
    use ridethrough_core::{CallError, CallName, Reason};

    use super::*;

    #[test]
    fn an_unsafe_call_that_runs_twice_is_noticed_and_a_lie_is_excused_once() {
        let mut oracle = watched(false);
        oracle.lied(1);
        oracle.executed(1);
        oracle.executed(1);
        assert_eq!(oracle.violations, []);

        oracle.executed(1);

        assert_eq!(promises(&oracle), ["an unsafe call runs once"]);
    }

    #[test]
    fn a_call_that_goes_back_to_an_older_session_is_noticed() {
        let mut oracle = watched(true);

        oracle.arrived(1, 2);
        oracle.arrived(1, 1);

        assert_eq!(promises(&oracle), ["a call never goes back to an older session"]);
    }

    #[test]
    fn a_safe_call_may_run_twice() {
        let mut oracle = watched(true);

        (0..3).for_each(|_| oracle.executed(1));

        assert_eq!(oracle.violations, []);
    }

    #[test]
    fn an_error_that_denies_a_run_is_noticed() {
        let mut oracle = watched(false);
        oracle.executed(1);

        oracle.ended(1, Moment::secs(1), &Err(error(Delivery::Refused)));

        assert_eq!(promises(&oracle), ["an error says whether the server may have run it"]);
    }

    #[test]
    fn a_second_outcome_a_late_one_and_a_foreign_answer_are_noticed() {
        let mut oracle = watched(false);
        let foreign = Ok(Answer::Result(Json::new(r#"{"call":2}"#).unwrap()));

        oracle.ended(1, Moment::secs(62), &foreign);
        oracle.ended(1, Moment::secs(1), &Err(error(Delivery::Unknown)));

        assert_eq!(
            promises(&oracle),
            ["never past the deadline", "answers are never mixed", "exactly one outcome"]
        );
    }

    #[test]
    fn what_follows_the_outcome_undercuts_a_hint_or_hurries_is_noticed() {
        let mut oracle = watched(false);
        oracle.deferred(1, Moment::secs(5));

        oracle.posted(1, Moment::secs(4));
        oracle.resumed(1, Moment::secs(6));
        oracle.resumed(1, Moment::millis(6050));
        oracle.ended(1, Moment::secs(7), &Err(error(Delivery::Unknown)));
        oracle.posted(1, Moment::secs(8));

        assert_eq!(
            promises(&oracle),
            [
                "hints are never undercut",
                "no two resumes within 100 ms",
                "nothing follows the outcome"
            ]
        );
    }

    #[test]
    fn a_call_that_never_ends_and_a_second_renewal_are_noticed() {
        let mut oracle = watched(false);

        oracle.handshake_began();
        oracle.handshake_began();
        oracle.closed();

        assert_eq!(promises(&oracle), ["one renewal at a time", "every call ends"]);
    }

    fn watched(is_safe: bool) -> Oracle {
        let mut oracle = Oracle::new(7);
        oracle.begun(1, is_safe, Moment::START, Duration::from_secs(60));
        oracle
    }

    fn promises(oracle: &Oracle) -> Vec<&str> {
        oracle.violations.iter().map(|violation| violation.promise).collect()
    }

    fn error(delivery: Delivery) -> CallError {
        let call = CallName { method: "tools/call".into(), tool: None };
        let mut error = CallError::new(Kind::Interrupted, delivery, call, Reason::Nothing);
        error.attempts = 1;
        error
    }
}
