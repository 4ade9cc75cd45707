//! How steps must end, judged by the client's lines.

use crate::adapter::{Answer, Done, Line, Outcome, Step};
use crate::contestant::{End, Performance};
use crate::scenario::{Calls, Level, Scenario, StepEnd, Told};
use crate::score::{Finding, STOPPED};

use super::beyond;

/// Returns the checks that apply to every scenario and every client.
pub(super) fn general(scenario: &Scenario, performance: &Performance) -> Vec<Finding> {
    let finding = |that: &str, wrong: Option<String>| Finding {
        level: Level::Must,
        that: that.to_owned(),
        held: wrong.is_none(),
        is_late: false,
        evidence: wrong.unwrap_or_default(),
    };
    vec![
        finding(EVERY_STEP, unreported(scenario, performance)),
        finding(ENDS, unfinished(&performance.end)),
    ]
}

/// Returns what is wrong with the lines as a whole.
fn unreported(scenario: &Scenario, performance: &Performance) -> Option<String> {
    if let Some(garbage) = performance.garbage.first() {
        return Some(format!("the client printed what is no line of the protocol: {garbage}"));
    }
    let steps: Vec<_> = performance.lines.iter().map(|line| line.step).collect();
    let wanted: Vec<_> = (0..scenario.client.len()).collect();
    if steps == wanted {
        return None;
    }
    let missing = wanted.iter().find(|step| !steps.contains(step));
    Some(match missing {
        Some(step) => {
            format!("step {step} was never reported: {}", in_words(&scenario.client[*step]))
        }
        None => format!("steps were reported as {steps:?}"),
    })
}

fn unfinished(end: &End) -> Option<String> {
    match end {
        End::Finished => None,
        End::Failed(how) => Some(format!("it ended with {how}")),
        End::NotStarted(why) => Some(format!("it did not start: {why}")),
        End::Stopped(limit) => Some(format!("{STOPPED} {} s", limit.as_secs_f64())),
    }
}

fn in_words(step: &Step) -> String {
    serde_json::to_string(step).unwrap_or_default()
}

pub(super) fn step(end: &StepEnd, line: &Line) -> Option<String> {
    let done = &line.done;
    let took = seconds(done.elapsed_ms);
    let outcome = match &done.result {
        Some(Answer::One(outcome)) => outcome.clone(),
        _ => Outcome::default(),
    };
    let error = done.error.as_deref();
    if !end.or_error_has.is_empty() && has_one_of(error, &end.or_error_has) {
        return None;
    }
    let is_wrong = end.ok.is_some_and(|ok| ok != done.ok)
        || end.text.as_ref().is_some_and(|text| Some(text) != outcome.text.as_ref())
        || end.is_error.is_some_and(|is_error| Some(is_error) != outcome.is_error)
        || end.json.as_ref().is_some_and(|wanted| !has(outcome.json.as_ref(), wanted))
        || !has_one_of(error, &end.error_has)
        || !end.error_lacks.is_empty() && has_one_of(error, &end.error_lacks);
    if is_wrong {
        return Some(format!("step {} ended after {took:.3} s with {}", end.number, told_of(done)));
    }
    if end.within.is_some_and(|within| took > within) {
        return Some(format!("step {} took {took:.3} s: {}", end.number, told_of(done)));
    }
    let is_early = end.after.is_some_and(|after| took < after);
    is_early.then(|| format!("step {} took only {took:.3} s", end.number))
}

/// Whether every wanted member is present.
fn has(seen: Option<&serde_json::Value>, wanted: &serde_json::Value) -> bool {
    match (seen, wanted) {
        (Some(seen), serde_json::Value::Object(members)) => {
            members.iter().all(|(name, value)| has(seen.get(name), value))
        }
        (seen, wanted) => seen == Some(wanted),
    }
}

fn has_one_of(error: Option<&str>, texts: &[String]) -> bool {
    let error = error.unwrap_or_default().to_lowercase();
    texts.is_empty() || texts.iter().any(|text| error.contains(&text.to_lowercase()))
}

pub(super) fn calls(calls: &Calls, line: &Line) -> Option<String> {
    let Some(Answer::Many(ends)) = &line.done.result else {
        return Some(format!("step {} has no list of calls: {}", calls.step, told_of(&line.done)));
    };
    let answered: Vec<_> = ends.iter().enumerate().filter(|(at, end)| is_own(*at, end)).collect();
    let limit = calls.within.unwrap_or(f64::INFINITY);
    let quick = answered.iter().filter(|(_, end)| seconds(end.elapsed_ms) <= limit).count();
    let wrong = beyond(&calls.answered, answered.len() as u64, "calls were answered")
        .or_else(|| beyond(&calls.quick, quick as u64, &format!("calls within {limit} s")))?;
    let other = ends.iter().enumerate().find(|(at, end)| !is_own(*at, end));
    let example = other.map(|(at, end)| format!("; c{at} ended with {}", told_of(end)));
    Some(wrong + &example.unwrap_or_default())
}

/// Whether the call at this place was answered with what it sent.
fn is_own(at: usize, end: &Done<Outcome>) -> bool {
    let text = end.result.as_ref().and_then(|outcome| outcome.text.as_deref());
    end.ok && text == Some(&format!("c{at}"))
}

pub(super) fn told(told: &Told, lines: &[Line]) -> Option<String> {
    let heard = lines.iter().filter(|line| told.step.is_none_or(|step| line.step == step));
    let heard: Vec<_> = heard.flat_map(|line| &line.notifications).collect();
    let times = heard.iter().filter(|what| ***what == told.what).count();
    let wrong = beyond(&told.times, times as u64, &format!("times `{}`", told.what))?;
    Some(format!("{wrong}; the client reported {heard:?}"))
}

/// Returns how many answers reached the caller.
pub(super) fn deliveries(scenario: &Scenario, lines: &[Line]) -> usize {
    let asks = |line: &&Line| scenario.client.get(line.step).is_some_and(|step| step.asks() > 0);
    let delivered = |line: &Line| match &line.done.result {
        Some(Answer::Many(ends)) => ends.iter().filter(|end| end.ok).count(),
        _ => usize::from(line.done.ok),
    };
    lines.iter().filter(asks).map(delivered).sum()
}

/// Returns an end in a few words.
fn told_of<T: serde::Serialize>(done: &Done<T>) -> String {
    let text = match (&done.error, &done.result) {
        (Some(error), _) => format!("the error `{error}`"),
        (None, Some(result)) => serde_json::to_string(result).unwrap_or_default(),
        (None, None) => format!("ok = {}", done.ok),
    };
    shortened(&text)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn seconds(millis: f64) -> f64 {
    millis / 1e3
}

const EVERY_STEP: &str = "every step is reported once, in order";
const ENDS: &str = "the client ends by itself";
const MOST_TEXT: usize = 300;
