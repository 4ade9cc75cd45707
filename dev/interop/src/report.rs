//! The results as a table for people, as Markdown for the documentation, and as JSON.

use std::fmt::{self, Write};
use std::path::Path;

use anyhow::Result;
use ridethrough_testkit::page::write_between_marks;
use serde_json::json;

use crate::catalog::{Package, SERVERS};
use crate::said::{self, Said};

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Failed(String),
    Limit(&'static str),
    LimitGone(&'static str),
    /// It is left to another server of this SDK.
    NotAsked,
    Passed,
}

impl Outcome {
    pub(crate) const fn is_bad(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::LimitGone(_))
    }

    const fn mark(&self) -> &'static str {
        match self {
            Self::Failed(_) | Self::LimitGone(_) => "FAIL",
            Self::Limit(_) => "–",
            Self::NotAsked => "",
            Self::Passed => "yes",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Limit(reason) => write!(f, "a limit: {reason}"),
            Self::LimitGone(reason) => {
                write!(f, "it can, though limits.rs says: {reason}; take the limit away")
            }
            Self::NotAsked => f.write_str("not asked"),
            Self::Passed => f.write_str("yes"),
        }
    }
}

/// All results of one server.
pub(crate) struct Column {
    server: &'static str,
    package: &'static str,
    version: String,
    /// Why the server was skipped.
    pub(crate) skipped: Option<String>,
    pub(crate) outcomes: Vec<Outcome>,
    /// How it says that a session is gone.
    pub(crate) said: Vec<Said>,
}

impl Column {
    pub(crate) const fn new(package: Package, version: String) -> Self {
        Self {
            server: package.folder,
            package: package.name,
            version,
            skipped: None,
            outcomes: Vec::new(),
            said: Vec::new(),
        }
    }
}

/// All results.
pub(crate) struct Report {
    rows: Vec<String>,
    pub(crate) columns: Vec<Column>,
}

impl Report {
    pub(crate) const fn new(rows: Vec<String>) -> Self {
        Self { rows, columns: Vec::new() }
    }

    pub(crate) fn is_good(&self) -> bool {
        !self.columns.iter().flat_map(|column| &column.outcomes).any(Outcome::is_bad)
    }

    fn mark(&self, column: usize, row: usize) -> &'static str {
        self.columns[column].outcomes.get(row).map_or("skipped", Outcome::mark)
    }

    /// Returns a table for a terminal.
    pub(crate) fn text(&self) -> String {
        let width = self.rows.iter().map(String::len).max().unwrap_or(0);
        let mut text = format!("{:width$}", "");
        for column in &self.columns {
            _ = write!(text, "  {}", column.server);
        }
        for (row, sentence) in self.rows.iter().enumerate() {
            _ = write!(text, "\n{sentence:width$}");
            for (index, column) in self.columns.iter().enumerate() {
                _ = write!(text, "  {:^1$}", self.mark(index, row), column.server.len());
            }
        }
        for column in &self.columns {
            text.push_str(&said::text(column.server, &column.said));
        }
        text
    }

    /// Returns the last lines: what failed and why, counts, and the servers that were skipped.
    pub(crate) fn summary(&self) -> String {
        let outcomes = || self.columns.iter().flat_map(|column| &column.outcomes);
        let passed = outcomes().filter(|it| **it == Outcome::Passed).count();
        let limits = outcomes().filter(|it| matches!(it, Outcome::Limit(_))).count();
        let bad = outcomes().filter(|it| it.is_bad()).count();
        let mut text = String::new();
        for column in &self.columns {
            let checks = self.rows.iter().zip(&column.outcomes);
            for (row, outcome) in checks.filter(|(_, outcome)| outcome.is_bad()) {
                _ = writeln!(text, "{}: {row}: {outcome}", column.server);
            }
        }
        _ = write!(text, "interop: {passed} passed, {limits} known limits, {bad} failed");
        for column in &self.columns {
            if let Some(why) = &column.skipped {
                _ = write!(text, "; {} skipped: {why}", column.server);
            }
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let columns = self.columns.iter().map(|column| {
            let checks = self.rows.iter().zip(&column.outcomes).map(|(row, outcome)| {
                json!({ "check": row, "mark": outcome.mark(), "words": outcome.to_string() })
            });
            json!({
                "server": column.server,
                "package": column.package,
                "version": column.version,
                "skipped": column.skipped,
                "checks": checks.collect::<Vec<_>>(),
                "said": column.said.iter().map(|it| json!({ "when": it.when, "answer": it.answer })).collect::<Vec<_>>(),
            })
        });
        format!("{:#}\n", json!(columns.collect::<Vec<_>>()))
    }

    /// Returns the table as Markdown, its limits as notes below.
    fn markdown(&self) -> String {
        let mut notes: Vec<&str> = Vec::new();
        let mut text = String::from("| |");
        for column in &self.columns {
            _ = write!(text, " {}<br>`{}` {} |", column.server, column.package, column.version);
        }
        _ = write!(text, "\n|---|{}", "---|".repeat(self.columns.len()));
        for (row, sentence) in self.rows.iter().enumerate() {
            _ = write!(text, "\n| {sentence} |");
            for (index, column) in self.columns.iter().enumerate() {
                match column.outcomes.get(row) {
                    Some(Outcome::Limit(reason)) => {
                        _ = write!(text, " – [{}] |", note(&mut notes, reason));
                    }
                    _ => _ = write!(text, " {} |", self.mark(index, row)),
                }
            }
        }
        text.push('\n');
        for (number, reason) in notes.iter().enumerate() {
            _ = write!(text, "\n{}. {reason}", number + 1);
        }
        text
    }

    /// Writes the table between two marks of a file, if it is complete and has no failure.
    pub(crate) fn write_into(&self, path: &Path, marks: &str) -> Result<()> {
        let is_whole = self.columns.iter().all(|column| column.skipped.is_none());
        if !is_whole || !self.is_good() {
            eprintln!("{} is left as it is: not every check was passed", path.display());
            return Ok(());
        }
        write_between_marks(path, marks, &self.markdown())
    }

    /// Writes what servers say of lost sessions between its two markers, if all of them were asked. What a
    /// server says is true whether our client copes with it or not.
    pub(crate) fn write_sessions_into(&self, path: &Path) -> Result<()> {
        if self.columns.len() < SERVERS.len() || self.columns.iter().any(|it| it.said.is_empty()) {
            eprintln!("{} is left as it is: not every server was asked", path.display());
            return Ok(());
        }
        let servers = self.columns.iter().map(|it| (it.server, it.said.as_slice()));
        write_between_marks(path, "sessions", &said::markdown(servers))
    }
}

/// Returns the number of a note; equal words are one note.
fn note<'a>(notes: &mut Vec<&'a str>, reason: &'a str) -> usize {
    let known = notes.iter().position(|it| *it == reason);
    known.unwrap_or_else(|| {
        notes.push(reason);
        notes.len() - 1
    }) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failure_or_a_limit_that_is_gone_makes_a_report_bad() {
        let report = |outcome| {
            let mut report = Report::new(vec!["a check".to_owned()]);
            let mut column = Column::new(SERVERS[0].package(), "1".to_owned());
            column.outcomes.push(outcome);
            report.columns.push(column);
            report
        };

        assert!(report(Outcome::Passed).is_good());
        assert!(report(Outcome::Limit("it cannot")).is_good());
        assert!(!report(Outcome::LimitGone("it cannot")).is_good());
        assert!(!report(Outcome::Failed("no".to_owned())).is_good());
    }

    #[test]
    fn a_server_that_was_skipped_is_named_on_the_last_line() {
        let mut report = Report::new(vec![]);
        let mut column = Column::new(SERVERS[0].package(), "1".to_owned());
        column.skipped = Some("pip is missing".to_owned());
        report.columns.push(column);

        assert!(report.is_good());
        assert!(report.summary().ends_with("; python skipped: pip is missing"));
    }
}
