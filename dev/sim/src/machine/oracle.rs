//! Checks what must hold in every world of the machine.
//!
//! The oracle stands outside the machine: it sees what the server ran, what went over the wire and how each
//! call ended, and knows nothing of how the machine decides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ridethrough_core::{AttemptId, Delivery, Era, Eras, Kind, Moment, Outcome, Outgoing};
use ridethrough_wire::message::Answer;

use crate::Violation;
use crate::machine::wire;

/// The history of one world.
#[derive(Debug)]
pub(crate) struct MachineOracle {
    seed: u64,
    calls: BTreeMap<u64, KnownCall>,
    pub(crate) violations: Vec<Violation>,
    /// The eras that the machine may speak.
    eras: Eras,
    wire_ids: BTreeSet<u64>,
    /// The first requests of handshakes that are out, and when each is given up.
    handshakes: BTreeMap<AttemptId, Moment>,
    /// How many handshakes followed each other at once, while no call began, was sent or ended.
    hurried: u32,
    handshake_over: Moment,
    /// How many executions the server denied.
    pub(crate) lies: u64,
    pub(crate) executions: u64,
}

/// The history of one call.
#[derive(Debug)]
struct KnownCall {
    is_safe: bool,
    began: Moment,
    deadline: Duration,
    /// The session generation of each execution.
    executions: Vec<u64>,
    lies: usize,
    /// How often it met a server of the other era.
    strangers: u32,
    arrivals: u32,
    /// The newest session generation under which it arrived.
    generation: u64,
    resumes: u32,
    last_resume: Option<Moment>,
    /// The server asked not to be sent this call before this moment.
    not_before: Moment,
    /// The state that the server gave last, if it has asked for input.
    state: Option<Option<String>>,
    is_cancelled: bool,
    is_over: bool,
    /// Whether the call ended with the claim that the server has not run it.
    is_denied: bool,
}

impl MachineOracle {
    pub(crate) const fn new(seed: u64, eras: Eras) -> Self {
        Self {
            seed,
            calls: BTreeMap::new(),
            violations: Vec::new(),
            eras,
            wire_ids: BTreeSet::new(),
            handshakes: BTreeMap::new(),
            hurried: 0,
            handshake_over: Moment::START,
            lies: 0,
            executions: 0,
        }
    }

    pub(crate) fn begun(&mut self, call: u64, is_safe: bool, now: Moment, deadline: Duration) {
        let history = KnownCall {
            is_safe,
            began: now,
            deadline,
            executions: Vec::new(),
            lies: 0,
            strangers: 0,
            arrivals: 0,
            generation: 0,
            resumes: 0,
            last_resume: None,
            not_before: Moment::START,
            state: None,
            is_cancelled: false,
            is_over: false,
            is_denied: false,
        };
        self.hurried = 0;
        self.calls.insert(call, history);
    }

    /// Records a request that the machine sent. `wire_id` is the request's id.
    pub(crate) fn sent(&mut self, request: &Outgoing, wire_id: Option<u64>) {
        if let Some(fault) = wire::fault(request) {
            self.broken("a request keeps to its era", fault);
        }
        let era = request.to.era();
        if matches!(self.eras, Eras::Only(only) if only != era) {
            self.broken("a pinned link keeps to its era", format!("{era:?} was spoken"));
        }
        if let Some(wire_id) = wire_id
            && !self.wire_ids.insert(wire_id)
        {
            self.broken("each request has an id of its own", format!("{wire_id} was used again"));
        }
    }

    /// Records that the machine read a request for input: the call must go out again with this state.
    pub(crate) fn asked(&mut self, call: u64, state: Option<String>) {
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.state = Some(state);
        history.arrivals = 0;
    }

    /// Records that a call went out in this era and sent this state back.
    pub(crate) fn echoed(&mut self, call: u64, era: Era, state: Option<String>) {
        let Some(history) = self.calls.get_mut(&call) else { return };
        if era == Era::Legacy {
            // A session has no rounds: the call begins anew in it.
            history.state = None;
        }
        let given = history.state.clone().flatten();
        if given != state {
            let what = format!("call {call} sent {state:?} back for {given:?}");
            self.broken("the server's state is sent back byte for byte", what);
        }
    }

    /// Records that the application gave a call up; `is_out` if its connection is still open.
    pub(crate) fn cancelled(&mut self, call: u64, is_out: bool) {
        if is_out {
            self.broken("a cancel closes what is out", format!("call {call} is still out"));
        }
        if self.calls.get(&call).is_some_and(|history| !history.is_over) {
            self.broken("a cancel is the end", format!("call {call} goes on"));
        }
    }

    /// Records that the application is about to give a call up.
    pub(crate) fn cancels(&mut self, call: u64) {
        if let Some(history) = self.calls.get_mut(&call) {
            history.is_cancelled = true;
        }
    }

    /// Records that the machine sent the request of a call.
    pub(crate) fn posted(&mut self, call: u64, now: Moment) {
        self.hurried = 0;
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

    /// Records that a server of the other era refused a call.
    pub(crate) fn misunderstood(&mut self, call: u64) {
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.strangers += 1;
        // The first refusal, the final one, and 3 that were lost on the way.
        if history.strangers > 5 {
            let what = format!("call {call} met the other era {} times", history.strangers);
            self.broken("a change of era is followed once", what);
        }
    }

    /// Records that the server took the request in, under this session generation.
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
        // The first send; one each for a renewed session, renewed credentials and a stream that was gone; 3
        // re-sends; and more within half a minute, with growing pauses. After a request for input the call
        // has to be sent again.
        if arrivals > 7 + 20 {
            self.broken("attempts are bounded", format!("call {call} arrived {arrivals} times"));
        }
    }

    /// Records that the server ran the call that arrived last.
    pub(crate) fn executed(&mut self, call: u64) {
        self.executions += 1;
        let Some(history) = self.calls.get_mut(&call) else { return };
        history.executions.push(history.generation);
        let honest = history.executions.len().saturating_sub(history.lies);
        let is_denied = history.is_denied && honest > 0;
        if !history.is_safe && honest > 1 {
            let runs = format!("call {call} ran under generations {:?}", history.executions);
            self.broken("an unsafe call runs once", runs);
        }
        if is_denied {
            self.broken(DOUBT_IS_TOLD, format!("call {call} ran after that was ruled out"));
        }
    }

    /// Records that the server ran a request and said that it did not.
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

    /// Records the start of a handshake. After `limit` its request is given up; its answer is then read only
    /// to delete the session.
    pub(crate) fn handshake_began(&mut self, attempt: AttemptId, now: Moment, limit: Duration) {
        self.handshakes.insert(attempt, now + limit);
        let out = self.handshakes.values().filter(|given_up| **given_up > now).count();
        if out > 1 {
            self.broken("one renewal at a time", format!("{out} are out"));
        }
        let is_hurried = now.since(self.handshake_over) < Duration::from_millis(50);
        self.hurried = if is_hurried { self.hurried + 1 } else { 0 };
        // A wrong era, the question for the era, credentials: each once. Every other attempt follows a pause.
        if self.hurried > 8 {
            let what = format!("{} in a row that nobody asked for", self.hurried);
            self.broken("handshakes are bounded", what);
        }
    }

    pub(crate) fn handshake_ended(&mut self, attempt: AttemptId, now: Moment) {
        self.handshakes.remove(&attempt);
        self.handshake_over = now;
    }

    /// Corrects a record: this attempt was no handshake, but a ping of a stateless server.
    pub(crate) fn was_ping(&mut self, attempt: AttemptId) {
        self.handshakes.remove(&attempt);
    }

    /// Records the end of a call.
    pub(crate) fn ended(&mut self, call: u64, now: Moment, outcome: &Outcome) {
        self.hurried = 0;
        let Some(history) = self.calls.get_mut(&call) else { return };
        let is_second = std::mem::replace(&mut history.is_over, true);
        let elapsed = now.since(history.began);
        let (deadline, lies) = (history.deadline, history.lies);
        let is_cancelled = history.is_cancelled;
        history.is_denied =
            outcome.as_ref().is_err_and(|error| error.delivery != Delivery::Unknown);
        let executions = history.executions.len();
        if is_second {
            self.broken("exactly one outcome", format!("call {call} ended again"));
        }
        if elapsed > deadline + Duration::from_secs(1) {
            self.broken("never past the deadline", format!("call {call} took {elapsed:?}"));
        }
        match outcome {
            Ok(Answer::Result(result)) => {
                let expected = format!(r#""call":{call}}}"#);
                if !result.as_str().ends_with(&expected) {
                    self.broken("answers are never mixed", format!("call {call} got another's"));
                }
            }
            Ok(Answer::Error(_)) => {}
            Err(error) if error.kind == Kind::Cancelled && !is_cancelled => {
                self.broken("a loss is no cancel", format!("nobody cancelled call {call}"));
            }
            Err(error) if error.delivery != Delivery::Unknown && executions > lies => {
                self.broken(
                    DOUBT_IS_TOLD,
                    format!("call {call} ran, and ended {:?} {:?}", error.kind, error.delivery),
                );
            }
            Err(_) => {}
        }
    }

    /// Checks what must hold at the end of the world.
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

    /// Whether the application may try a call that ended like this again during the healing.
    pub(crate) const fn is_passing(kind: Kind) -> bool {
        !matches!(kind, Kind::Closed)
    }
}

const DOUBT_IS_TOLD: &str = "an error says whether the server may have run it";

#[cfg(test)]
mod tests;
