//! The steps of the client as bars.
//!
//! A client reports how long each step took, not when. The lab notes when it reads each report, on the clock
//! of the servers' log, and the step had ended by then. A client may hold its reports back and send many at
//! once, so there is a second bound: steps run one after another, so a step ended before the next one began.
//! The first step began before a server saw anything of the client.

use super::bar::{Bar, BarEnd, BarKind};
use crate::adapter::{Answer, Line, Step};
use crate::journal::Journal;
use crate::report::words::{self, Time, colourless, shortened};
use crate::score::{ClientTimes, Score};

pub(super) fn bars(score: &Score) -> Vec<Bar> {
    let times = spans(score);
    // Of a client that reported nothing, only this is known: it was in its first step when a server saw it.
    let begun = first_seen(&score.journal).unwrap_or(score.times.began_ms);
    let over = times.last().map_or(begun, |span| span.1);
    let steps = score
        .lines
        .iter()
        .zip(times)
        .map(|(line, (from, to))| bar(score.script.get(line.step), line, from, to));
    steps.chain(unfinished(score, over)).collect()
}

/// Returns when each step began and ended, at the latest.
fn spans(score: &Score) -> Vec<(f64, f64)> {
    let ClientTimes { began_ms, ended_ms, heard_ms } = &score.times;
    let mut spans = Vec::with_capacity(score.lines.len());
    let mut latest = *ended_ms;
    for (place, line) in score.lines.iter().enumerate().rev() {
        let elapsed = line.done.elapsed_ms.max(0.0);
        let heard = heard_ms.get(place).copied().unwrap_or(*ended_ms);
        let mut from = heard.min(latest) - elapsed;
        if place == 0 && !matches!(score.script.get(line.step), Some(Step::Sleep { .. })) {
            from = first_seen(&score.journal).map_or(from, |seen| seen.min(from));
        }
        // If a client claims more time than it had, the step begins with the client.
        let from = from.max(*began_ms);
        spans.push((from, from + elapsed));
        latest = from;
    }
    spans.reverse();
    spans
}

fn first_seen(journal: &Journal) -> Option<f64> {
    let opened = journal.connections.iter().map(|it| it.opened_ms);
    opened.chain(journal.requests.iter().map(|it| it.at_ms)).reduce(f64::min)
}

fn bar(step: Option<&Step>, line: &Line, from: f64, to: f64) -> Bar {
    let name = step.map_or_else(|| format!("step {}", line.step), words::step);
    let is_sleep = matches!(step, Some(Step::Sleep { .. }));
    let (kind, how) = match (line.done.ok, answered(line)) {
        (true, _) if is_sleep => (BarKind::Quiet, None),
        (true, None) => (BarKind::Good, None),
        (true, Some((ok, all))) if ok == all => (BarKind::Good, None),
        (_, Some((ok, all))) => (BarKind::Broken, Some(format!("{ok} of {all} ok"))),
        (false, None) => (BarKind::Broken, Some("failed".to_owned())),
    };
    let label = how.map_or_else(|| name.clone(), |how| format!("{name}: {how}"));
    let mut about = format!("step {}: {name}, {}", line.step, Time(line.done.elapsed_ms));
    match &line.done.error {
        Some(error) => about += &format!("\n{}", shortened(&colourless(error), MOST_ERROR)),
        None if line.done.ok => about += "\nok",
        None => about += "\nfailed",
    }
    Bar { from, to, label, kind, end: BarEnd::Proper, about, ..Bar::default() }
}

/// Returns how many of several calls at once were ok, and how many there were.
fn answered(line: &Line) -> Option<(usize, usize)> {
    match &line.done.result {
        Some(Answer::Many(ends)) => Some((ends.iter().filter(|end| end.ok).count(), ends.len())),
        _ => None,
    }
}

/// Returns the step that the client was in when it ended.
fn unfinished(score: &Score, from: f64) -> Option<Bar> {
    let next = score.lines.last().map_or(0, |line| line.step.saturating_add(1));
    let name = words::step(score.script.get(next)?);
    let to = score.times.ended_ms.max(from);
    let label = format!("{name}: never ended");
    let about = format!("step {next}: {name}\nnever reported");
    Some(Bar { from, to, label, kind: BarKind::Broken, end: BarEnd::Open, about, ..Bar::default() })
}

const MOST_ERROR: usize = 160;
