//! The results as a table for people, and as Markdown for the documentation.

use std::fmt::{self, Write};
use std::path::Path;

use anyhow::Result;
use ridethrough_testkit::page::write_between_marks;

use crate::published::{Mark, SDKS};
use crate::scenario::{Leg, Scenario};
use crate::verdict::Verdict;

/// The result of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Failed(String),
    /// It passed with this many checks.
    Passed(usize),
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        verdict.map_or_else(Self::Failed, Self::Passed)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => write!(f, "FAIL: {why}"),
            Self::Passed(1) => f.write_str("yes, 1 check"),
            Self::Passed(checks) => write!(f, "yes, {checks} checks"),
        }
    }
}

/// All results.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<(Scenario, Outcome)>,
    /// Scenarios that a client that does nothing passed, though it must not.
    pub(crate) leaks: Vec<String>,
    /// Whether every scenario of the suite was played.
    pub(crate) is_whole: bool,
}

impl Report {
    pub(crate) fn is_good(&self) -> bool {
        self.leaks.is_empty() && self.passed() == self.rows.len()
    }

    /// Returns the last line: counts.
    pub(crate) fn summary(&self) -> String {
        let (all, passed) = (self.rows.len(), self.passed());
        let failed = all - passed + self.leaks.len();
        format!("conformance: {passed} of {all} passed, {failed} failed")
    }

    fn passed(&self) -> usize {
        self.rows.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Passed(_))).count()
    }

    /// Writes the tables between the two markers of a file, if they are complete and have no failure.
    pub(crate) fn write_into(&self, path: &Path) -> Result<()> {
        if !self.is_whole || !self.is_good() {
            eprintln!("{} is left as it is: not everything was played and passed", path.display());
            return Ok(());
        }
        write_between_marks(path, "conformance", &self.markdown())
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        for leg in [Leg::Sessions, Leg::Stateless, Leg::Older, Leg::Extension] {
            _ = write!(text, "### {}\n\n{}\n", leg.title(), self.played(leg));
        }
        _ = write!(text, "### Totals\n\n{}", self.totals());
        text
    }

    /// Returns the scenarios that must pass in one revision, beside the results of others.
    fn played(&self, leg: Leg) -> String {
        let mut text = header("scenario", |_| String::new());
        for (scenario, outcome) in self.rows.iter().filter(|(scenario, _)| scenario.leg == leg) {
            let Outcome::Passed(checks) = outcome else { continue };
            _ = write!(text, "| {}", scenario.name);
            if leg.is_required() && !scenario.is_scored() {
                text.push_str(" (not scored)");
            }
            _ = write!(text, " | yes {checks}/{checks} |");
            for sdk in &SDKS {
                _ = match sdk.mark(scenario) {
                    Some(Mark::Ended(good, all)) => write!(text, " program failed {good}/{all} |"),
                    Some(Mark::Failed(good, all)) => write!(text, " no {good}/{all} |"),
                    Some(Mark::Passed(good, all)) => write!(text, " yes {good}/{all} |"),
                    None => write!(text, " not played |"),
                };
            }
            text.push('\n');
        }
        text
    }

    fn totals(&self) -> String {
        let mut text = header("passed by the strict rule", |sdk| format!("<br>{sdk}"));
        let is_plain = |it: &Scenario| it.leg.is_required() && !it.name.starts_with("auth/");
        let must: Vec<_> = self.rows.iter().filter(|(it, _)| is_plain(it)).collect();
        _ = write!(text, "| without authorization, of {} | {} |", must.len(), must.len());
        for sdk in &SDKS {
            let passed = |(scenario, _): &&&(Scenario, Outcome)| {
                matches!(sdk.mark(scenario), Some(Mark::Passed(..)))
            };
            _ = write!(text, " {} |", must.iter().filter(passed).count());
        }
        text.push('\n');
        for (column, leg) in [Leg::Sessions, Leg::Stateless].into_iter().enumerate() {
            let scored = self.rows.iter().filter(|(it, _)| it.leg == leg && it.is_scored());
            let all = scored.clone().count();
            let ours = scored.filter(|(_, outcome)| matches!(outcome, Outcome::Passed(_))).count();
            _ = write!(text, "| scored in {}, of {all} | {ours} |", leg.name());
            for sdk in &SDKS {
                _ = write!(text, " {} |", sdk.scored[column]);
            }
            text.push('\n');
        }
        _ = write!(text, "| everything, of {} | {} |", self.rows.len(), self.passed());
        _ = writeln!(text, "{}", " not played |".repeat(SDKS.len()));
        text
    }
}

fn header(title: &str, more: impl Fn(&str) -> String) -> String {
    let names = SDKS.iter().map(|sdk| format!(" {}{} |", sdk.name, more(sdk.package)));
    format!(
        "| {title} | ridethrough |{}\n|---|---|{}\n",
        names.collect::<String>(),
        "---|".repeat(SDKS.len())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_or_a_leak_makes_a_report_bad() {
        let must = scenario("tools_call");

        assert!(report(&must, Ok(1)).is_good());
        assert!(!report(&must, Err("no".to_owned())).is_good());
        let mut leaking = report(&must, Ok(1));
        leaking.leaks.push("it let us in".to_owned());
        assert!(!leaking.is_good());
    }

    #[test]
    fn the_tables_have_our_result_beside_the_others() {
        let mut report = report(&scenario("tools_call"), Ok(2));
        let extension = Scenario { name: "auth/dpop".to_owned(), leg: Leg::Extension };
        report.rows.push((extension, Ok(12).into()));

        let page = report.markdown();

        let row = "| tools_call | yes 2/2 | yes 2/2 | yes 2/2 | yes 2/2 | yes 2/2 |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| auth/dpop | yes 12/12 | not played |"), "{page}");
        assert!(page.contains("| without authorization, of 1 | 1 | 1 | 1 | 1 | 1 |"), "{page}");
        assert!(page.contains("| scored in 2026-07-28, of 1 | 1 | 31 | 9 | 31 | 31 |"), "{page}");
        assert!(page.contains("| everything, of 2 | 2 |"), "{page}");
    }

    fn report(scenario: &Scenario, verdict: Verdict) -> Report {
        Report { rows: vec![(scenario.clone(), verdict.into())], ..Report::default() }
    }

    fn scenario(name: &str) -> Scenario {
        Scenario { name: name.to_owned(), leg: Leg::Stateless }
    }
}
