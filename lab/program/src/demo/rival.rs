//! How other clients did in the demo's scenarios, as the lab measured it when the scorecard was made.
//!
//! The scorecard is a file of this repository. A scorecard that is empty, or that lacks a scenario, says
//! nothing about any client.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The measurements of other clients.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Scorecard {
    /// The day of the measurement.
    made: Option<String>,
    /// The command that measured.
    command: Option<String>,
    clients: Vec<Measured>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Measured {
    name: String,
    version: Option<String>,
    scenarios: BTreeMap<String, Score>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Score {
    verdict: String,
    /// The first check that did not hold.
    broken: Option<String>,
    /// What was seen instead.
    evidence: Option<String>,
    /// Whether the lab had to stop the client.
    hung: bool,
    figures: RivalFigures,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RivalFigures {
    attempts: u64,
    elapsed_ms: f64,
}

impl Scorecard {
    /// Returns the scorecard that this binary was built with.
    pub(super) fn measured() -> Self {
        Self::read(SCORECARD)
    }

    fn read(text: &str) -> Self {
        // A test finds a file that cannot be read; here it must not spoil the demo.
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Returns when and how the measurement was made, if it was.
    pub(super) fn source(&self) -> Option<String> {
        let (made, command) = (self.made.as_ref()?, self.command.as_ref()?);
        Some(format!("The other clients were measured on {made}, by `{command}`."))
    }

    /// Returns how others did in this scenario: how many failed, and what the first of those did.
    pub(super) fn said_of(&self, scenario: &str) -> String {
        let others = self.clients.iter().filter(|client| !client.name.starts_with(OURS));
        let scores = others.filter_map(|client| Some((client, client.scenarios.get(scenario)?)));
        let ran: Vec<_> = scores.filter(|(_, score)| VERDICTS.contains(&&*score.verdict)).collect();
        let failed: Vec<_> = ran.iter().filter(|(_, score)| score.verdict == "fail").collect();
        match (ran.len(), failed.first()) {
            (0, _) => "not measured yet".to_owned(),
            (all, None) => format!("none of {all} fails"),
            (all, Some((client, score))) => {
                format!("{} of {all} fail; {}: {}", failed.len(), client.title(), score.words())
            }
        }
    }
}

impl Measured {
    fn title(&self) -> String {
        self.version
            .as_ref()
            .map_or_else(|| self.name.clone(), |version| format!("{} {version}", self.name))
    }
}

impl Score {
    fn words(&self) -> String {
        let RivalFigures { attempts, elapsed_ms } = &self.figures;
        if self.hung {
            let seconds = elapsed_ms / 1e3;
            return format!("hangs, stopped after {seconds:.0} s and {attempts} attempts");
        }
        let broken = self.broken.as_deref().map(|check| format!("does not hold that {check}"));
        let words: Vec<_> = broken.into_iter().chain(self.evidence.clone()).collect();
        if words.is_empty() { "fails".to_owned() } else { shorten(&words.join(": ")) }
    }
}

/// Cuts a text that is too long for a table.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

const SCORECARD: &str = include_str!("scorecard.json");
/// The lab's words for verdicts; any other word means that the client was not run.
const VERDICTS: [&str; 3] = ["fail", "pass", "soft"];
const OURS: &str = "ridethrough";
const LONGEST: usize = 140;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scorecard_of_this_repository_can_be_read() {
        let read: Result<Scorecard, _> = serde_json::from_str(SCORECARD);

        assert!(read.is_ok(), "{read:?}");
    }

    #[test]
    fn what_was_not_measured_is_not_claimed() {
        for text in ["", "{}", r#"{"clients":[]}"#, r#"{"clients":[{"name":"x"}]}"#, "no JSON"] {
            assert_eq!(Scorecard::read(text).said_of("A1"), "not measured yet", "{text}");
        }
        assert_eq!(card().said_of("Z9"), "not measured yet");
        assert_eq!(Scorecard::read("{}").source(), None);
    }

    #[test]
    fn the_first_that_failed_is_named_with_what_it_did() {
        assert_eq!(
            card().said_of("A1"),
            "1 of 2 fail; mcp 2.3.0: does not hold that the call ends: no end after 40 s"
        );
    }

    #[test]
    fn one_that_had_to_be_stopped_is_said_to_hang() {
        let said = card().said_of("A2");

        assert_eq!(said, "1 of 1 fail; mcp 2.3.0: hangs, stopped after 44 s and 43 attempts");
    }

    #[test]
    fn whoever_reads_it_can_measure_again() {
        let source = card().source().unwrap();

        assert_eq!(source, "The other clients were measured on 2026-11-15, by `lab compare`.");
    }

    #[test]
    fn our_own_score_and_those_that_did_not_run_do_not_count() {
        assert_eq!(card().said_of("B8"), "none of 1 fails");
    }

    #[test]
    fn long_evidence_is_cut() {
        assert_eq!(shorten(&"ä".repeat(LONGEST + 1)), format!("{}...", "ä".repeat(LONGEST)));
        assert_eq!(shorten("short"), "short");
    }

    fn card() -> Scorecard {
        Scorecard::read(
            r#"{"made": "2026-11-15", "command": "lab compare", "clients": [
                {"name": "ridethrough", "scenarios": {"A1": {"verdict": "fail"}}},
                {"name": "other", "scenarios": {
                    "A1": {"verdict": "pass", "broken": null}, "B8": {"verdict": "soft"}}},
                {"name": "mcp", "version": "2.3.0", "totals": {"fail": 1}, "scenarios": {
                    "A1": {"verdict": "fail", "broken": "the call ends", "evidence": "no end after 40 s"},
                    "A2": {"verdict": "fail", "broken": "it ends", "hung": true,
                        "figures": {"attempts": 43, "elapsed_ms": 44465.5}},
                    "B8": {"verdict": "not run"}}}
            ]}"#,
        )
    }
}
