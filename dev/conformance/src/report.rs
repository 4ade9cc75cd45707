//! The results as a table for people, and as Markdown for the documentation.

use std::fmt::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::published::{Mark, SDKS};
use crate::scenario::{Leg, Scenario};
use crate::verdict::Verdict;

/// The result of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It cannot pass yet, for this reason, and does not.
    Expected(&'static str),
    /// It was not expected to pass, for this reason, and does.
    ExcuseGone(&'static str),
    Failed(String),
    /// It passed with this many checks.
    Passed(usize),
}

impl Outcome {
    pub(crate) fn new(scenario: &Scenario, verdict: Verdict) -> Self {
        match (scenario.excuse(), verdict) {
            (None, Ok(checks)) => Self::Passed(checks),
            (None, Err(why)) => Self::Failed(why),
            (Some(excuse), Ok(_)) => Self::ExcuseGone(excuse),
            (Some(excuse), Err(_)) => Self::Expected(excuse),
        }
    }

    pub(crate) const fn is_bad(&self) -> bool {
        matches!(self, Self::ExcuseGone(_) | Self::Failed(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(excuse) => write!(f, "expected to fail: {excuse}"),
            Self::ExcuseGone(excuse) => {
                write!(f, "FAIL: it passes, though scenario.rs says: {excuse}; take that away")
            }
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
        self.leaks.is_empty() && !self.rows.iter().any(|(_, outcome)| outcome.is_bad())
    }

    /// The last line: counts.
    pub(crate) fn summary(&self) -> String {
        let count = |is_it: fn(&Outcome) -> bool| {
            self.rows.iter().filter(|(_, outcome)| is_it(outcome)).count()
        };
        let passed = count(|it| matches!(it, Outcome::Passed(_)));
        let expected = count(|it| matches!(it, Outcome::Expected(_)));
        let failed = count(Outcome::is_bad) + self.leaks.len();
        format!("conformance: {passed} passed, {expected} expected failures, {failed} failed")
    }

    /// Writes the tables between the two markers of a file, if they are complete and have no failure.
    pub(crate) fn write_into(&self, path: &Path) -> Result<()> {
        if !self.is_whole || !self.is_good() {
            eprintln!("{} is left as it is: not everything was played and passed", path.display());
            return Ok(());
        }
        let page = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let page = between(&page, &self.markdown());
        let page = page.with_context(|| format!("{} has no markers", path.display()))?;
        Ok(std::fs::write(path, page)?)
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        for leg in [Leg::Sessions, Leg::Stateless] {
            _ = write!(text, "### {}\n\n{}\n", leg.name(), self.played(leg));
        }
        _ = write!(
            text,
            "### Totals\n\n{}\n### Expected failures\n\n{}",
            self.totals(),
            self.excused()
        );
        text
    }

    /// The scenarios that must pass in one revision, beside the results of others.
    fn played(&self, leg: Leg) -> String {
        let mut text = header("scenario", |_| String::new());
        for (scenario, outcome) in self.rows.iter().filter(|(scenario, _)| scenario.leg == leg) {
            let Outcome::Passed(checks) = outcome else { continue };
            _ = write!(text, "| {}", scenario.name);
            if !scenario.is_scored() {
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
        let is_plain = |it: &Scenario| it.excuse().is_none() && !it.name.starts_with("auth/");
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
        text
    }

    /// The scenarios that cannot pass yet, by reason and revision.
    fn excused(&self) -> String {
        let mut lines: Vec<(&str, Leg, Vec<&str>)> = Vec::new();
        for (Scenario { name, leg }, outcome) in &self.rows {
            let Outcome::Expected(excuse) = outcome else { continue };
            match lines.iter_mut().find(|line| (line.0, line.1) == (*excuse, *leg)) {
                Some((.., names)) => names.push(name),
                None => lines.push((excuse, *leg, vec![name])),
            }
        }
        let line = |(excuse, leg, names): &(&str, Leg, Vec<&str>)| {
            let (count, names) = (names.len(), names.join("`, `"));
            format!("- {}, {excuse} ({count}): `{names}`\n", leg.name())
        };
        lines.iter().map(line).collect()
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

fn between(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))
}

const BEGIN: &str = "<!-- conformance: begin -->";
const END: &str = "<!-- conformance: end -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_a_false_excuse_or_a_leak_makes_a_report_bad() {
        let (must, excused) = (scenario("tools_call"), scenario("auth/dpop"));
        let no = || Err("no".to_owned());

        assert!(report(&must, Ok(1)).is_good());
        assert!(report(&excused, no()).is_good());
        assert!(!report(&must, no()).is_good());
        assert!(!report(&excused, Ok(1)).is_good());
        let mut leaking = report(&must, Ok(1));
        leaking.leaks.push("it let us in".to_owned());
        assert!(!leaking.is_good());
    }

    #[test]
    fn the_tables_have_our_result_beside_the_others() {
        let mut report = report(&scenario("tools_call"), Ok(2));
        let excused = scenario("auth/dpop");
        report.rows.push((excused.clone(), Outcome::new(&excused, Err("no".to_owned()))));

        let page = report.markdown();

        let row = "| tools_call | yes 2/2 | yes 2/2 | yes 2/2 | yes 2/2 | yes 2/2 |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| without authorization, of 1 | 1 | 1 | 1 | 1 | 1 |"), "{page}");
        assert!(page.contains("| scored in 2026-07-28, of 2 | 1 | 31 | 9 | 31 | 31 |"), "{page}");
        assert!(page.contains("(1): `auth/dpop`"), "{page}");
    }

    #[test]
    fn tables_replace_what_stood_between_the_markers() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb");

        assert_eq!(between(&page, "new\n"), Some(format!("a\n{BEGIN}\n\nnew\n\n{END}\nb")));
        assert_eq!(between("no markers", "new"), None);
    }

    fn report(scenario: &Scenario, verdict: Verdict) -> Report {
        let outcome = Outcome::new(scenario, verdict);
        Report { rows: vec![(scenario.clone(), outcome)], ..Report::default() }
    }

    fn scenario(name: &str) -> Scenario {
        Scenario { name: name.to_owned(), leg: Leg::Stateless }
    }
}
