//! Compares what was seen with what a scenario expects.
//!
//! The judge reads only the servers' log and the client's lines. A claim that does not hold is returned with
//! the evidence, so that the author of the client can verify it.

use std::time::Duration;

use serde_json::Value;

use crate::adapter::Line;
use crate::contestant::Performance;
use crate::issuer::IssuedSecret;
use crate::journal::{Journal, Which};
use crate::scenario::{
    Bounds, Calls, Cancels, Check, Claim, ContestantKind, Level, Match, Requests, Runs, Scenario,
    StepEnd,
};
use crate::score::{ClientTimes, Figures, Finding, Score, Verdict};
use crate::stage::{Account, Stage};
use crate::{Deed, Entry, What};

mod ends;
mod logins;
mod streams;

/// Everything that is known about one performance.
pub(crate) struct Case<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) performance: Performance,
    pub(crate) main: Account,
    pub(crate) other: Account,
    pub(crate) issuer: Account,
    /// The secrets that were issued.
    pub(crate) secrets: Vec<IssuedSecret>,
    pub(crate) journal: Journal,
    pub(crate) times: ClientTimes,
}

impl<'a> Case<'a> {
    pub(crate) fn new(scenario: &'a Scenario, performance: Performance, stage: &Stage) -> Self {
        let [main, other, issuer] =
            [Which::Main, Which::Other, Which::Issuer].map(|which| stage.account(which));
        let secrets = stage.secrets();
        let began_ms = stage.at_ms(performance.began);
        let times = ClientTimes {
            began_ms,
            ended_ms: began_ms + performance.elapsed_ms,
            heard_ms: performance.heard.iter().map(|at| stage.at_ms(*at)).collect(),
        };
        let journal = stage.journal();
        Self { scenario, performance, main, other, issuer, secrets, journal, times }
    }

    /// Returns the score. A client of this kind is spared the checks that make no sense for it.
    pub(crate) fn judge(self, kind: ContestantKind) -> Score {
        let mut findings = ends::general(self.scenario, &self.performance);
        let asked = self.scenario.checks().filter(|(check, _)| check.is_asked_of(kind));
        findings.extend(asked.map(|(check, level)| self.find(check, level)));
        let verdict = verdict(&findings);
        let figures = self.figures();
        Score {
            id: self.scenario.id.clone(),
            title: self.scenario.title.clone(),
            why: self.scenario.why.clone(),
            verdict,
            findings,
            figures,
            script: self.scenario.client.clone(),
            lines: self.performance.lines,
            times: self.times,
            stderr: self.performance.stderr,
            journal: self.journal,
        }
    }

    fn find(&self, check: &Check, level: Level) -> Finding {
        let evidence = match check.claim() {
            Some(claim) => self.contradiction(claim),
            None => Some("the check claims nothing".to_owned()),
        };
        let held = evidence.is_none();
        let is_late = !held && check.claim().is_some_and(|claim| self.holds_with_more_time(claim));
        let (that, evidence) = (check.that.clone(), evidence.unwrap_or_default());
        Finding { level, that, held, is_late, evidence }
    }

    /// Whether a claim that does not hold would hold without its time limit.
    fn holds_with_more_time(&self, claim: Claim<'_>) -> bool {
        let wrong = match claim {
            Claim::Calls(calls) if calls.within.is_some() => {
                let calls = Calls { quick: Bounds::default(), within: None, ..calls.clone() };
                self.contradiction(Claim::Calls(&calls))
            }
            Claim::Cancels(cancels) if cancels.within.is_some() => {
                let cancels = Cancels { within: None, ..cancels.clone() };
                self.contradiction(Claim::Cancels(&cancels))
            }
            Claim::Step(end) if end.within.is_some() => {
                let end = StepEnd { within: None, ..end.clone() };
                self.contradiction(Claim::Step(&end))
            }
            _ => return false,
        };
        wrong.is_none()
    }

    /// Returns the evidence against a claim; `None` if it holds.
    fn contradiction(&self, claim: Claim<'_>) -> Option<String> {
        let lines = &self.performance.lines;
        match claim {
            Claim::Calls(calls) => match line(lines, calls.step) {
                Some(line) => ends::calls(calls, line),
                None => Some(unreported(calls.step)),
            },
            Claim::Cancels(cancels) => self.cancels(cancels),
            Claim::Connections(bounds) => beyond(bounds, self.connections(), "connections"),
            Claim::Dials(bounds) => beyond(bounds, self.journal.dials, "dials"),
            Claim::DistinctIds(of) => self.same_ids(of),
            Claim::Leaks(bounds) => self.leaks(bounds),
            Claim::Logins(bounds) => self.logins(bounds),
            Claim::Pauses(pauses) => streams::pauses(pauses, &self.main),
            Claim::Replays(bounds) => self.replays(bounds),
            Claim::Requests(requests) => self.requests(requests),
            Claim::Runs(runs) => self.runs(runs),
            Claim::Standing(bounds) => streams::standing(bounds, &self.main),
            Claim::Step(end) => match line(lines, end.number) {
                Some(line) => ends::step(end, line),
                None => Some(unreported(end.number)),
            },
            Claim::Told(told) => ends::told(told, lines),
            Claim::Unsaid(text) => {
                let Some(said) = &self.performance.said else {
                    return Some("it printed more than could be read".to_owned());
                };
                // The text itself may be a secret, so it is not shown.
                said.contains(text).then(|| "it stands in what the client printed".to_owned())
            }
        }
    }

    fn requests(&self, requests: &Requests) -> Option<String> {
        let account = match requests.at {
            Which::Issuer => &self.issuer,
            Which::Main => &self.main,
            Which::Other => &self.other,
        };
        let seen: Vec<_> = account.log.iter().filter(|entry| requests.of.holds(entry)).collect();
        let wrong = beyond(&requests.times, seen.len() as u64, "such requests")?;
        Some(wrong + &shown(&seen))
    }

    fn cancels(&self, cancels: &Cancels) -> Option<String> {
        let limit = cancels.within.map_or(Duration::MAX, Duration::from_secs_f64);
        let left = self.main.marks.iter().filter(|mark| {
            let entry = &self.main.log[mark.request];
            let is_left = matches!(mark.deed, Deed::Cancelled | Deed::Gone);
            is_left && mark.at.saturating_sub(entry.at) <= limit && cancels.of.holds(entry)
        });
        beyond(&cancels.times, left.count() as u64, "such requests were hung up on")
    }

    fn same_ids(&self, of: &Match) -> Option<String> {
        let mut seen = Vec::new();
        for entry in self.main.log.iter().filter(|entry| of.holds(entry)) {
            let message: Value = serde_json::from_slice(&entry.body).unwrap_or_default();
            let id = message["id"].clone();
            if seen.contains(&id) {
                return Some(format!("two such requests have the id {id}{}", shown(&[entry])));
            }
            seen.push(id);
        }
        None
    }

    fn runs(&self, runs: &Runs) -> Option<String> {
        let those: Vec<_> = self.journal.runs.iter().filter(|run| run.tool == runs.tool).collect();
        let number = if runs.of_each {
            let same = |run| those.iter().filter(|other| other.arguments == run).count();
            those.iter().map(|run| same(run.arguments.clone())).max().unwrap_or(0)
        } else {
            those.len()
        };
        let wrong = beyond(&runs.times, number as u64, "runs")?;
        let of = Match { tool: Some(runs.tool.clone()), ..Match::default() };
        let calls: Vec<_> = self.main.log.iter().filter(|entry| of.holds(entry)).collect();
        Some(wrong + &shown(&calls))
    }

    fn connections(&self) -> u64 {
        self.journal.connections.iter().filter(|it| it.server == Which::Main).count() as u64
    }

    fn figures(&self) -> Figures {
        let is_attempt = |entry: &&Entry| match &entry.what {
            What::Request { method, .. } => !HOUSEKEEPING.contains(&method.as_str()),
            What::Resume => true,
            _ => false,
        };
        Figures {
            attempts: self.main.log.iter().filter(is_attempt).count(),
            connections: self.connections() as usize,
            executions: self.journal.runs.len(),
            deliveries: ends::deliveries(self.scenario, &self.performance.lines),
            elapsed_ms: self.performance.elapsed_ms,
        }
    }
}

fn verdict(findings: &[Finding]) -> Verdict {
    let is_broken = |level| findings.iter().any(|it| !it.held && it.level == level);
    match (is_broken(Level::Must), is_broken(Level::Ideal)) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Soft,
        (false, false) => Verdict::Pass,
    }
}

fn unreported(step: usize) -> String {
    format!("step {step} was not reported")
}

fn line(lines: &[Line], step: usize) -> Option<&Line> {
    lines.iter().find(|line| line.step == step)
}

/// Returns why a number is out of its bounds.
fn beyond(bounds: &Bounds, number: u64, of_what: &str) -> Option<String> {
    if bounds.hold(number) {
        return None;
    }
    let bound = |word: &str, bound: Option<u64>| bound.map(|bound| format!("{word}{bound}"));
    let wanted = [
        bound("", bounds.exactly),
        bound("at least ", bounds.at_least),
        bound("at most ", bounds.at_most),
    ];
    let wanted: Vec<_> = wanted.into_iter().flatten().collect();
    Some(format!("{number} {of_what}, not {}", wanted.join(" and ")))
}

/// Returns a few requests, as evidence.
fn shown(entries: &[&Entry]) -> String {
    let mut text = String::new();
    for entry in entries.iter().take(MOST_SHOWN) {
        let at = entry.at.as_secs_f64();
        text += &format!("\n  {at:.3} s, connection {}: {}", entry.connection, in_words(entry));
    }
    if entries.len() > MOST_SHOWN {
        text += &format!("\n  and {} more", entries.len() - MOST_SHOWN);
    }
    text
}

fn in_words(entry: &Entry) -> String {
    let words = crate::journal::in_words(entry);
    match &entry.session {
        Some(session) => format!("{words} in {session}"),
        None => words,
    }
}

/// Methods that a client calls by itself.
const HOUSEKEEPING: &[&str] =
    &["initialize", "logging/setLevel", "ping", "server/discover", "subscriptions/listen"];
const MOST_SHOWN: usize = 6;

#[cfg(test)]
mod tests;
