//! The client's report of each step, and its last lines on stderr.

use crate::adapter::{Answer, Done, Line, Outcome};
use crate::page::Markup;
use crate::report::words::{self, Time, colourless, shortened};
use crate::score::Score;

pub(super) fn draw(page: &mut Markup, score: &Score) {
    page.words("h4", &[], "What the client said");
    if score.lines.is_empty() {
        page.words("p", &[("class", &"none")], "It reported no step.");
    } else {
        page.element("ol", &[("class", &"said")], |page| {
            score.lines.iter().take(MOST_LINES).for_each(|line| step(page, score, line));
        });
        if score.lines.len() > MOST_LINES {
            let more = score.lines.len() - MOST_LINES;
            page.words("p", &[("class", &"none")], format_args!("And {more} more."));
        }
    }
}

/// Writes the client's last lines on stderr.
pub(super) fn stderr(page: &mut Markup, score: &Score) {
    if !score.stderr.trim().is_empty() {
        page.element("details", &[("class", &"more")], |page| {
            page.words("summary", &[], "Its stderr, the last lines");
            page.words("pre", &[], shortened(&colourless(&score.stderr), MOST_STDERR));
        });
    }
}

fn step(page: &mut Markup, score: &Score, line: &Line) {
    let class = if line.done.ok { "ok" } else { "failed" };
    page.element("li", &[("class", &class)], |page| {
        page.words("span", &[("class", &"dim")], line.step).text(" ");
        if let Some(step) = score.script.get(line.step) {
            page.words("b", &[], shortened(&words::step(step), MOST_NAME)).text(" ");
        }
        page.words("span", &[("class", &"end")], if line.done.ok { "ok" } else { "failed" });
        page.text(" ");
        page.words("span", &[("class", &"dim")], Time(line.done.elapsed_ms));
        if !line.notifications.is_empty() {
            page.text(" ");
            let heard = shortened(&line.notifications.join(", "), MOST_TEXT);
            page.words("span", &[("class", &"dim")], format_args!("heard {heard}"));
        }
        match told(&line.done) {
            Some(error) if !line.done.ok => {
                page.words("pre", &[], shortened(&colourless(&error), MOST_ERROR));
            }
            Some(answer) => {
                page.text(" ").words("code", &[], shortened(&colourless(&answer), MOST_TEXT));
            }
            None => {}
        }
    });
}

/// Returns the error or the answer, in one text.
fn told(done: &Done<Answer>) -> Option<String> {
    let answer = match &done.result {
        Some(Answer::Many(ends)) => Some(of_many(ends)),
        Some(Answer::One(outcome)) => of_one(outcome),
        None => None,
    };
    match (&done.error, answer) {
        (Some(error), Some(answer)) => Some(format!("{error}; {answer}")),
        (Some(error), None) => Some(error.clone()),
        (None, answer) => answer,
    }
}

fn of_many(ends: &[Done<Outcome>]) -> String {
    let ok = ends.iter().filter(|end| end.ok).count();
    let first = ends.iter().enumerate().find(|(_, end)| !end.ok);
    let first = first.map(|(place, end)| {
        format!("; c{place}: {}", end.error.as_deref().unwrap_or("no error is told"))
    });
    format!("{ok} of {} ok{}", ends.len(), first.unwrap_or_default())
}

fn of_one(outcome: &Outcome) -> Option<String> {
    let failed = if outcome.is_error == Some(true) { "the tool failed: " } else { "" };
    match (&outcome.text, &outcome.json) {
        (Some(text), _) => Some(format!("{failed}{text:?}")),
        (None, Some(json)) => Some(format!("{failed}{}", shortened(&json.to_string(), MOST_JSON))),
        (None, None) => None,
    }
}

const MOST_LINES: usize = 30;
const MOST_NAME: usize = 60;
/// The most characters of an answer. The bound is low, because readers look for errors.
const MOST_JSON: usize = 70;
const MOST_TEXT: usize = 140;
const MOST_ERROR: usize = 700;
const MOST_STDERR: usize = 4000;
