//! Scorecards as files: a page for people, JSON for programs, JUnit for build servers.
//!
//! This module only shows results; it neither judges nor measures. What a client printed is shown as text and
//! never trusted: see `page`.

use serde::Serialize;

use crate::score::Scorecard;

mod html;
mod junit;
mod timeline;
mod words;

/// Returns one page about these clients, which needs no network, no script and no other file.
///
/// `made` is the date to show.
pub fn html(cards: &[Scorecard], made: &str) -> String {
    html::page(cards, made)
}

/// Returns everything about these clients, for programs.
///
/// It is an object with `format`, which is 1 until members change their meaning, and `clients`, a list of
/// scorecards.
pub fn json(cards: &[Scorecard]) -> String {
    #[derive(Serialize)]
    struct Report<'a> {
        format: u32,
        clients: &'a [Scorecard],
    }
    let report = Report { format: 1, clients: cards };
    serde_json::to_string_pretty(&report).expect("scorecards are plain data with names as keys")
}

/// Returns a JUnit report: a suite for each group, a case for each scenario. A scenario that passed softly is
/// a test that passed, and says so in its output.
pub fn junit(card: &Scorecard) -> String {
    junit::junit(card)
}

#[cfg(test)]
mod tests;
