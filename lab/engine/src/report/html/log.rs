//! The servers' log in words, which gives the times in the picture to the millisecond.

use std::collections::HashMap;

use crate::journal::{Asked, Happened, Journal, Which};
use crate::page::Markup;
use crate::report::words::{count, shortened};
use crate::score::Score;

pub(super) fn draw(page: &mut Markup, score: &Score) {
    let journal = &score.journal;
    if journal.requests.is_empty() && journal.events.is_empty() && journal.dials == 0 {
        return;
    }
    page.element("details", &[("class", &"more")], |page| {
        page.words("summary", &[], summary(journal));
        page.element("ol", &[("class", &"log")], |page| {
            for entry in entries(journal).into_iter().take(MOST_ENTRIES) {
                match entry {
                    LogEntry::Asked(asked, same) => request(page, asked, same),
                    LogEntry::Happened(event) => happened(page, event),
                }
            }
        });
        let all = journal.requests.len() + journal.events.len();
        if all > MOST_ENTRIES {
            let more = all - MOST_ENTRIES;
            page.words("p", &[("class", &"none")], format_args!("And {more} more."));
        }
    });
}

fn summary(journal: &Journal) -> String {
    let served = journal.connections.iter().filter(|it| it.server == Which::Main).count() as u64;
    let mut text = format!("The servers’ log, {}", count(journal.requests.len(), "request"));
    if journal.dials > served {
        text += &format!(", {} attempts to connect", journal.dials);
    }
    text
}

enum LogEntry<'a> {
    /// A request, and when one with an identical body came first.
    Asked(&'a Asked, Option<f64>),
    Happened(&'a Happened),
}

impl LogEntry<'_> {
    fn at_ms(&self) -> f64 {
        match self {
            Self::Asked(asked, _) => asked.at_ms,
            Self::Happened(event) => event.at_ms,
        }
    }
}

fn entries(journal: &Journal) -> Vec<LogEntry<'_>> {
    let mut first = HashMap::new();
    let mut entries = Vec::new();
    for asked in &journal.requests {
        let at = *first.entry(&asked.body_hash).or_insert(asked.at_ms);
        let is_repeated = asked.body_bytes > 0 && at < asked.at_ms;
        entries.push(LogEntry::Asked(asked, is_repeated.then_some(at)));
    }
    entries.extend(journal.events.iter().map(LogEntry::Happened));
    entries.sort_by(|one, other| one.at_ms().total_cmp(&other.at_ms()));
    entries
}

fn request(page: &mut Markup, asked: &Asked, same: Option<f64>) {
    page.element("li", &[], |page| {
        page.words("b", &[], seconds(asked.at_ms)).text(" ");
        page.text(place(asked.server)).text(format_args!("connection {}: ", asked.connection));
        page.words("span", &[("class", &"what")], shortened(&asked.what, MOST_WHAT));
        if let Some(session) = &asked.session {
            page.text(" in ").text(shortened(session, MOST_WHAT));
        }
        if let Some(at) = same {
            page.words("em", &[], format_args!(" the same body as at {}", seconds(at)));
        }
        let marks: Vec<_> = asked.marks.iter().take(MOST_MARKS).collect();
        for mark in marks {
            let deed = shortened(&mark.deed.to_string(), MOST_WHAT);
            page.words("small", &[], format_args!("{} {deed}", seconds(mark.at_ms)));
        }
        if asked.marks.len() > MOST_MARKS {
            let more = asked.marks.len() - MOST_MARKS;
            page.words("small", &[], format_args!("and {more} more"));
        }
    });
}

fn happened(page: &mut Markup, event: &Happened) {
    page.element("li", &[("class", &"event")], |page| {
        page.words("b", &[], seconds(event.at_ms)).text(" ");
        page.text(place(event.server)).text("the server: ").text(&event.what);
    });
}

const fn place(server: Which) -> &'static str {
    match server {
        Which::Issuer => "authorization server, ",
        Which::Main => "",
        Which::Other => "other server, ",
    }
}

/// Returns a time in seconds, so that times can be compared.
fn seconds(ms: f64) -> String {
    format!("{:.3} s", ms / 1e3)
}

const MOST_ENTRIES: usize = 60;
const MOST_MARKS: usize = 12;
const MOST_WHAT: usize = 80;
