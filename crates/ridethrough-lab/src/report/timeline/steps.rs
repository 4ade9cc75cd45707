//! The steps of the client as bars.
//!
//! A client reports how long each step took, not when it began. Steps run one after another, so
//! only the begin of the first is to be found. It is when a server first saw the client, unless the
//! server was not up then: what the client tried before nobody saw, and so the steps begin as late
//! as they can for all of them to be over at the client's end.

use super::story::{Bar, End, Kind, UP, is_mood};
use crate::adapter::{Answer, Line, Step};
use crate::journal::{Journal, Which};
use crate::report::words::{self, Time, colourless, shortened};
use crate::score::Score;

pub(super) fn bars(score: &Score) -> Vec<Bar> {
    let mut at = start(score);
    let mut bars = Vec::with_capacity(score.lines.len() + 1);
    for line in &score.lines {
        let until = at + line.done.elapsed_ms.max(0.0);
        bars.push(bar(score.script.get(line.step), line, at, until));
        at = until;
    }
    bars.extend(unfinished(score, at));
    bars
}

/// When the first step began.
fn start(score: &Score) -> f64 {
    let steps: f64 = score.lines.iter().map(|line| line.done.elapsed_ms.max(0.0)).sum();
    let spare = (score.figures.elapsed_ms - steps).max(0.0);
    match first_seen(&score.journal) {
        Some(seen) if was_up(&score.journal) => seen,
        Some(seen) => seen.min(spare),
        None => 0.0,
    }
}

/// Whether the first server could be reached from the first moment.
fn was_up(journal: &Journal) -> bool {
    let mut moods = journal.events.iter().filter(|it| it.server == Which::Main && is_mood(it));
    moods.next().is_none_or(|first| first.what != UP)
}

fn first_seen(journal: &Journal) -> Option<f64> {
    let opened = journal.connections.iter().map(|it| it.opened_ms);
    opened.chain(journal.requests.iter().map(|it| it.at_ms)).reduce(f64::min)
}

fn bar(step: Option<&Step>, line: &Line, from: f64, to: f64) -> Bar {
    let name = step.map_or_else(|| format!("step {}", line.step), words::step);
    let is_sleep = matches!(step, Some(Step::Sleep { .. }));
    let (kind, how) = match (line.done.ok, answered(line)) {
        (true, _) if is_sleep => (Kind::Quiet, None),
        (true, None) => (Kind::Good, None),
        (true, Some((ok, all))) if ok == all => (Kind::Good, None),
        (_, Some((ok, all))) => (Kind::Broken, Some(format!("{ok} of {all} ok"))),
        (false, None) => (Kind::Broken, Some("failed".to_owned())),
    };
    let label = how.map_or_else(|| name.clone(), |how| format!("{name}: {how}"));
    let mut about = format!("step {}: {name}, {}", line.step, Time(line.done.elapsed_ms));
    match &line.done.error {
        Some(error) => about += &format!("\n{}", shortened(&colourless(error), MOST_ERROR)),
        None if line.done.ok => about += "\nok",
        None => about += "\nfailed",
    }
    Bar { from, to, label, kind, end: End::Proper, about, ..Bar::default() }
}

/// Of several calls at once: how many were ok, and how many there were.
fn answered(line: &Line) -> Option<(usize, usize)> {
    match &line.done.result {
        Some(Answer::Many(ends)) => Some((ends.iter().filter(|end| end.ok).count(), ends.len())),
        _ => None,
    }
}

/// The step that the client was in when it ended.
fn unfinished(score: &Score, from: f64) -> Option<Bar> {
    let next = score.lines.last().map_or(0, |line| line.step.saturating_add(1));
    let name = words::step(score.script.get(next)?);
    let to = score.figures.elapsed_ms.max(from);
    let label = format!("{name}: never ended");
    let about = format!("step {next}: {name}\nnever reported");
    Some(Bar { from, to, label, kind: Kind::Broken, end: End::Open, about, ..Bar::default() })
}

const MOST_ERROR: usize = 160;
