//! What came out when a client was put through scenarios: plain data, for people and for machines.

use serde::Serialize;

use crate::adapter::{Line, Step};
use crate::journal::Journal;
use crate::scenario::Level;

/// Everything about one run of one client.
#[derive(Clone, Debug, Serialize)]
pub struct Scorecard {
    /// The name of the client.
    pub client: String,
    /// The command that is the client; empty for one inside this process.
    pub command: String,
    /// One for each scenario, in order.
    pub scores: Vec<Score>,
    /// How long the whole run took.
    pub elapsed_ms: f64,
}

impl Scorecard {
    /// How many scenarios ended so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.scores.iter().filter(|score| score.verdict == verdict).count()
    }
}

/// What came out of one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// Which scenario.
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
    /// When it did so.
    pub times: ClientTimes,
    /// The last lines that it wrote for people.
    pub stderr: String,
    /// What the servers saw and did.
    pub journal: Journal,
}

impl Score {
    /// The checks that did not hold, the worst first.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        let of = |level| self.findings.iter().filter(move |it| !it.held && it.level == level);
        of(Level::Must).chain(of(Level::Ideal))
    }

    /// Whether only limits of time were missed: then the machine may be slow, not the client.
    pub fn is_only_late(&self) -> bool {
        self.verdict != Verdict::Pass && self.faults().all(|fault| fault.is_late)
    }
}

/// When a client did what, in milliseconds on the clock of the servers' log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClientTimes {
    /// When it was started.
    pub began_ms: f64,
    /// When it was over.
    pub ended_ms: f64,
    /// When each of its lines was read. A client that keeps its lines back is heard later than it spoke.
    pub heard_ms: Vec<f64>,
}

/// How a scenario ended for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Something that must hold did not.
    Fail,
    /// Everything that must hold did; an ideal was missed.
    Soft,
    /// Everything held.
    Pass,
}

impl Verdict {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Soft => "soft",
            Self::Pass => "pass",
        }
    }
}

/// One check and what was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Whether it had to hold.
    pub level: Level,
    /// The sentence.
    pub that: String,
    /// Whether it was true.
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
    /// From the start of the client to its end.
    pub elapsed_ms: f64,
}
