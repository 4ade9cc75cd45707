//! The results of a client in the scenarios, as plain data.

use serde::Serialize;

use crate::adapter::{Line, Step};
use crate::journal::Journal;
use crate::scenario::Level;

/// The results of one run of one client.
#[derive(Clone, Debug, Serialize)]
pub struct Scorecard {
    /// The name of the client.
    pub client: String,
    /// The command that starts the client; empty for one inside this process.
    pub command: String,
    /// One for each scenario, in order.
    pub scores: Vec<Score>,
    /// How long the whole run took.
    pub elapsed_ms: f64,
}

impl Scorecard {
    /// Returns how many scenarios ended with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.scores.iter().filter(|score| score.verdict == verdict).count()
    }

    /// Returns how many ended how, as `3 pass, 1 soft, 0 fail`.
    pub fn counts(&self) -> String {
        let counts = [Verdict::Pass, Verdict::Soft, Verdict::Fail];
        counts.map(|verdict| format!("{} {}", self.count(verdict), verdict.word())).join(", ")
    }
}

/// The result of one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// The id of the scenario.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Why it matters.
    pub why: String,
    /// How it ended.
    pub verdict: Verdict,
    /// Every check, held or not.
    pub findings: Vec<Finding>,
    /// The numbers.
    pub figures: Figures,
    /// What the client was asked to do.
    pub script: Vec<Step>,
    /// What the client reported.
    pub lines: Vec<Line>,
    /// When it reported.
    pub times: ClientTimes,
    /// The last lines that it wrote to stderr.
    pub stderr: String,
    /// What the servers saw and did.
    pub journal: Journal,
}

impl Score {
    /// Returns the checks that did not hold, the worst first.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        let of = |level| self.findings.iter().filter(move |it| !it.held && it.level == level);
        of(Level::Must).chain(of(Level::Ideal))
    }

    /// Whether the client had to be stopped.
    pub fn is_hung(&self) -> bool {
        self.findings.iter().any(|it| !it.held && it.evidence.starts_with(STOPPED))
    }

    /// Whether only time limits were missed: then the machine may be slow, not the client.
    pub fn is_only_late(&self) -> bool {
        self.verdict != Verdict::Pass && self.faults().all(|fault| fault.is_late)
    }
}

/// The times of a client, in milliseconds on the clock of the servers' log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClientTimes {
    /// When it was started.
    pub began_ms: f64,
    /// When it ended.
    pub ended_ms: f64,
    /// When each of its lines was read. A client that holds its lines back is later here than it was.
    pub heard_ms: Vec<f64>,
}

/// How a scenario ended for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A check that must hold did not.
    Fail,
    /// Every check that must hold did; an ideal was missed.
    Soft,
    /// Every check held.
    Pass,
}

impl Verdict {
    /// Returns the verdict in one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Soft => "soft",
            Self::Pass => "pass",
        }
    }
}

/// One check and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How bad it is if it does not hold.
    pub level: Level,
    /// The sentence.
    pub that: String,
    /// Whether it held.
    pub held: bool,
    /// Whether it would have held with more time, so that a busy machine alone may have broken it.
    pub is_late: bool,
    /// What was seen instead, with the requests that show it; empty if it held.
    pub evidence: String,
}

/// The numbers of one scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Calls and requests that were sent for the script, and streams that were resumed.
    pub attempts: usize,
    /// Connections that were served.
    pub connections: usize,
    /// Runs of tools.
    pub executions: usize,
    /// Answers that the client gave to its caller.
    pub deliveries: usize,
    /// The time from the start of the client to its end.
    pub elapsed_ms: f64,
}

/// The beginning of the evidence if a client had to be stopped.
pub(crate) const STOPPED: &str = "it was stopped after";
