//! Several clients side by side: one table for people, one file for programs.
//!
//! It only arranges what was measured. A client that could not be run is named with the reason, and never
//! counted.

use ridethrough_lab::adapter::Step;
use ridethrough_lab::scenario::Scenario;
use ridethrough_lab::score::{Score, Scorecard, Verdict};

mod json;
mod markdown;
#[cfg(test)]
mod tests;

/// The clients that are compared, and their results.
#[derive(Clone, Debug)]
pub(crate) struct Comparison<'a> {
    /// The scenarios, in order.
    pub(crate) scenarios: &'a [&'a Scenario],
    /// The day, as `2026-11-15`.
    pub(crate) made: String,
    /// The command that makes this comparison again.
    pub(crate) command: String,
    /// The clients, ours first, and then the bridges.
    pub(crate) entries: Vec<ScoredClient>,
}

/// One client.
#[derive(Clone, Debug)]
pub(crate) struct ScoredClient {
    /// Its name.
    pub(crate) name: String,
    /// What it is, in a few words.
    pub(crate) what: String,
    /// Its version.
    pub(crate) version: String,
    /// Whether it is played by itself, or by a host in front of it.
    pub(crate) role: Role,
    /// Its results.
    pub(crate) outcome: ScoredOutcome,
}

/// How an entry is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// A client. Clients come first.
    Client,
    /// A bridge, behind a host that recovers from no fault.
    Bridge,
}

/// The results of a client.
#[derive(Clone, Debug)]
pub(crate) enum ScoredOutcome {
    /// It was not run, for this reason.
    NotRun(String),
    /// It was put through the scenarios.
    Ran(Scorecard),
}

impl ScoredClient {
    fn card(&self) -> Option<&Scorecard> {
        match &self.outcome {
            ScoredOutcome::NotRun(_) => None,
            ScoredOutcome::Ran(card) => Some(card),
        }
    }

    fn score(&self, scenario: &Scenario) -> Option<&Score> {
        self.card()?.scores.iter().find(|score| score.id == scenario.id)
    }
}

/// How many scenarios ended with which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
struct Totals {
    pass: usize,
    soft: usize,
    fail: usize,
    /// How often the client had to be stopped.
    hung: usize,
    /// How often a tool ran more often than it was called, where that was a fault.
    repeated: usize,
}

impl Totals {
    fn of(scenarios: &[&Scenario], entry: &ScoredClient) -> Self {
        let mut totals = Self::default();
        for (scenario, score) in
            scenarios.iter().filter_map(|scenario| Some((scenario, entry.score(scenario)?)))
        {
            match score.verdict {
                Verdict::Fail => totals.fail += 1,
                Verdict::Soft => totals.soft += 1,
                Verdict::Pass => totals.pass += 1,
            }
            totals.hung += usize::from(score.is_hung());
            totals.repeated += usize::from(most_runs(scenario, score).is_some());
        }
        totals
    }
}

/// Returns how many times one call ran, if that is more often than it was made. In a scenario that is passed,
/// repeating was right.
fn most_runs(scenario: &Scenario, score: &Score) -> Option<usize> {
    if score.verdict == Verdict::Pass {
        return None;
    }
    let runs = &score.journal.runs;
    let often = runs.iter().map(|run| {
        let same = |other: &&_| is_same(run, other);
        let made: usize = scenario.client.iter().map(|step| made(step, run)).sum();
        (runs.iter().filter(same).count(), made.max(1))
    });
    often.filter(|(ran, made)| ran > made).map(|(ran, _)| ran).max()
}

fn is_same(one: &ridethrough_lab::journal::Ran, other: &ridethrough_lab::journal::Ran) -> bool {
    one.tool == other.tool && one.arguments == other.arguments
}

/// Returns how many times a step makes the call that ran. Concurrent calls each have arguments of their own.
fn made(step: &Step, run: &ridethrough_lab::journal::Ran) -> usize {
    match step {
        Step::Call { tool, args, concurrency: None, .. } if *tool == run.tool => {
            usize::from(run.arguments.as_object().is_some_and(|it| it == args))
        }
        _ => 0,
    }
}

/// Returns the evidence on one line, shortened.
fn shortened(evidence: &str) -> String {
    let words = evidence.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words.chars().filter(|it| !it.is_control());
    let mut short: String = shown.clone().take(MOST_EVIDENCE).collect();
    if shown.count() > MOST_EVIDENCE {
        short.push('…');
    }
    short
}

const MOST_EVIDENCE: usize = 240;
