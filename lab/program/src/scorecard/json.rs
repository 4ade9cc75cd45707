//! A comparison as a small file for programs: verdicts, the first reason and the figures, no logs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Comparison, Role, ScoredClient, ScoredOutcome, Totals, most_runs, shortened};
use ridethrough_lab::scenario::Scenario;
use ridethrough_lab::score::{Figures, Score, Verdict};

#[derive(Serialize)]
struct Whole<'a> {
    made: &'a str,
    command: &'a str,
    scenarios: Vec<Named<'a>>,
    clients: Vec<JsonClient<'a>>,
}

#[derive(Serialize)]
struct Named<'a> {
    id: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct JsonClient<'a> {
    name: &'a str,
    what: &'a str,
    version: &'a str,
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_run: Option<&'a str>,
    totals: Totals,
    scenarios: BTreeMap<&'a str, Short<'a>>,
}

#[derive(Serialize)]
struct Short<'a> {
    verdict: Verdict,
    /// The first check that did not hold, the worst first.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    hung: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_runs: Option<usize>,
    figures: Figures,
}

impl Comparison<'_> {
    /// Returns the comparison as JSON.
    pub(crate) fn json(&self) -> String {
        let scenarios =
            self.scenarios.iter().map(|it| Named { id: &it.id, title: &it.title }).collect();
        let clients = self.entries.iter().map(|entry| client(self.scenarios, entry)).collect();
        let whole = Whole { made: &self.made, command: &self.command, scenarios, clients };
        let mut text = serde_json::to_string_pretty(&whole).expect("plain data has a JSON form");
        text.push('\n');
        text
    }
}

fn client<'a>(scenarios: &'a [&'a Scenario], entry: &'a ScoredClient) -> JsonClient<'a> {
    let scores = scenarios.iter().filter_map(|it| Some((*it, entry.score(it)?)));
    JsonClient {
        name: &entry.name,
        what: &entry.what,
        version: &entry.version,
        role: entry.role,
        not_run: match &entry.outcome {
            ScoredOutcome::NotRun(why) => Some(why),
            ScoredOutcome::Ran(_) => None,
        },
        totals: Totals::of(scenarios, entry),
        scenarios: scores.map(|(it, score)| (it.id.as_str(), short(it, score))).collect(),
    }
}

fn short<'a>(scenario: &Scenario, score: &'a Score) -> Short<'a> {
    let first = score.faults().next();
    Short {
        verdict: score.verdict,
        broken: first.map(|it| it.that.as_str()),
        evidence: first.map(|it| shortened(&it.evidence)),
        hung: score.is_hung(),
        most_runs: most_runs(scenario, score),
        figures: score.figures,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(it: &bool) -> bool {
    !*it
}
