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

pub use html::html;
pub use junit::junit;

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

#[cfg(test)]
mod tests;
