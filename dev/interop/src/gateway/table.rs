//! The results as tables for the documentation: one for each revision of hosts.

use std::fmt::{self, Write};
use std::path::Path;

use anyhow::Result;
use ridethrough_testkit::page::write_between_marks;

use super::features::FEATURES;
use super::{HostRevision, ServerKind};
use crate::report::Outcome;

/// One feature of one pair.
pub(super) struct Cell {
    pub(super) host: HostRevision,
    pub(super) kind: ServerKind,
    pub(super) server: &'static str,
    pub(super) feature: &'static str,
    pub(super) outcome: Outcome,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, kind) = (self.host.revision(), self.kind.name());
        let Self { server, feature, outcome, .. } = self;
        write!(f, "a host of {host}, a server of {kind} ({server}): {feature}: {outcome}")
    }
}

/// Writes the tables into a file, between its two markers.
pub(super) fn write_into(path: &Path, cells: &[Cell]) -> Result<()> {
    write_between_marks(path, "gateway", &tables(cells))
}

fn tables(cells: &[Cell]) -> String {
    let mut notes: Vec<&str> = Vec::new();
    let mut text = String::new();
    for host in HostRevision::ALL {
        let heads: Vec<_> = ServerKind::ALL.iter().map(|it| it.name()).collect();
        let _ = writeln!(text, "| host of {} | {} |", host.revision(), heads.join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(heads.len()));
        for (_, feature) in FEATURES {
            let row: Vec<_> = ServerKind::ALL
                .into_iter()
                .map(|kind| mark(cells, (host, kind, feature), &mut notes))
                .collect();
            let _ = writeln!(text, "| {feature} | {} |", row.join(" | "));
        }
        text.push('\n');
    }
    for (number, note) in notes.iter().enumerate() {
        let _ = writeln!(text, "{}. {note}", number + 1);
    }
    text
}

/// Returns the mark of one cell over all servers of its kind: what the worst of them has.
fn mark<'a>(
    cells: &'a [Cell],
    (host, kind, feature): (HostRevision, ServerKind, &str),
    notes: &mut Vec<&'a str>,
) -> String {
    let is_it = |it: &&Cell| it.host == host && it.kind == kind && it.feature == feature;
    let all: Vec<_> = cells.iter().filter(is_it).collect();
    if all.iter().any(|it| it.outcome.is_bad()) {
        return "FAIL".to_owned();
    }
    // A server that lacks a tool says nothing about the gateway where another has it.
    if all.iter().any(|it| it.outcome == Outcome::Passed) {
        return "yes".to_owned();
    }
    let Some(Outcome::Limit(why)) = all.first().map(|it| &it.outcome) else {
        return String::new();
    };
    let place = notes.iter().position(|it| it == why).unwrap_or_else(|| {
        notes.push(why);
        notes.len() - 1
    });
    format!("– ({})", place + 1)
}
