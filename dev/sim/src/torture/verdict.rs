//! Checks the promises after a run: what each call may end with, what may have run, what may be left.
//!
//! The network breaks once and then works. So a safe call must succeed, an unsafe one must succeed or be in
//! doubt, and every later call must succeed. No client on HTTP/1.1 can do more in one case: a connection that
//! goes silent without a sign, while the server answers on others, looks exactly like a slow tool. The
//! contract then has the call wait for its deadline (row 19). That is one call at most, since an HTTP/1.1
//! connection carries one at a time and is not used again after that.

use ridethrough::error::Kind;
use ridethrough_lab::{Protocol, Run};
use serde_json::Value;

use super::exchange::{After, Exchange, Leeway, Lenient};
use super::life::{AFTERWARDS, RunRecord};
use super::point::Point;
use super::stage::{Ended, Ending, Nature};
use crate::net::Break;

/// Returns everything that is wrong with a run, compared with one without a break.
pub(super) fn judge(
    exchange: &Exchange,
    point: &Point,
    life: &RunRecord,
    unharmed: &RunRecord,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let dial = usize::try_from(point.dial).unwrap_or(usize::MAX);
    if !life.passed.get(dial).is_some_and(|line| line.is_broken) {
        wrong.push("the cut did not happen: the run was another one before it".to_owned());
    }
    for before in &unharmed.ended {
        match life.ended.iter().filter(|it| it.name == before.name).collect::<Vec<_>>()[..] {
            [ended] => wrong.extend(complaint(exchange, point, ended, before, life)),
            ref several => wrong.push(format!("{} ended {} times", before.name, several.len())),
        }
    }
    let waited = life.ended.iter().filter(|it| is_deadline(&it.ending)).count();
    if waited > 1 {
        wrong.push(format!("{waited} calls waited in vain for one dead connection"));
    }
    wrong.extend(leftover(life));
    wrong
}

/// Returns everything that is wrong with a run without a break.
pub(super) fn judge_unharmed(life: &RunRecord) -> Vec<String> {
    let mut wrong: Vec<String> = life.ended.iter().filter_map(|it| fault(it, life)).collect();
    let failed = life
        .ended
        .iter()
        .filter(|it| it.nature == Nature::Safe && !matches!(it.ending, Ending::Answer(_)));
    wrong.extend(failed.map(|it| format!("{}: {:?}", it.name, it.ending)));
    wrong.extend(leftover(life));
    wrong
}

fn leftover(life: &RunRecord) -> Option<String> {
    (life.tasks > 0).then(|| format!("{} tasks are left", life.tasks))
}

/// Returns what is wrong with how a call ended.
fn complaint(
    exchange: &Exchange,
    point: &Point,
    ended: &Ended,
    unharmed: &Ended,
    life: &RunRecord,
) -> Option<String> {
    if let Some(fault) = fault(ended, life) {
        return Some(fault);
    }
    let is_let_pass = exchange.leeway.iter().any(|leeway| lets_pass(leeway, point, &ended.ending));
    let name = &ended.name;
    match (&ended.ending, &unharmed.ending) {
        (Ending::Answer(news), Ending::Answer(all)) if ended.nature == Nature::News => {
            news_fault(news, all, point)
        }
        _ if is_let_pass => None,
        (Ending::Answer(answer), Ending::Answer(right)) if answer != right => {
            Some(format!("{name}: `{answer}` is not what the server gave"))
        }
        (Ending::Answer(_), Ending::Answer(_)) if runs_of(ended, life) == Some(0) => {
            Some(format!("{name} was answered and never ran"))
        }
        (Ending::Error { may_have_run: false, words, .. }, _) if runs_of(ended, life).is_some() => {
            Some(format!("{name} cannot have run, and failed all the same: {words}"))
        }
        (Ending::Error { words, .. }, _) if ended.nature == Nature::Safe => {
            let is_lost = is_lost_in_silence(point) && is_deadline(&ended.ending);
            let is_last = name.ends_with(AFTERWARDS[1]);
            (is_last || !is_lost).then(|| format!("{name} failed: {words}"))
        }
        _ => None,
    }
}

/// Whether the contract allows this end.
fn lets_pass(leeway: &Leeway, point: &Point, ending: &Ending) -> bool {
    let is_after = leeway.after == After::Any || point.harm.breaks == Break::Stall;
    is_after
        && match (leeway.ending, ending) {
            (Lenient::Kind(wanted), Ending::Error { kind, .. }) => *kind == Some(wanted),
            (Lenient::Code(wanted), Ending::Answer(answer)) => {
                let answer: Value = serde_json::from_str(answer).unwrap_or_default();
                answer["code"] == wanted
            }
            _ => false,
        }
}

/// Returns what is wrong with a call in any case.
fn fault(ended: &Ended, life: &RunRecord) -> Option<String> {
    if ended.ending == Ending::Hung {
        return Some(format!("{} hangs: no outcome after {:?}", ended.name, ended.took));
    }
    match (&ended.ending, runs_of(ended, life)) {
        (_, Some(runs @ 2..)) => Some(format!("{} ran {runs} times", ended.name)),
        (Ending::Error { may_have_run: false, words, .. }, Some(1)) => {
            Some(format!("{} ran, and its error says that it cannot have: {words}", ended.name))
        }
        _ => None,
    }
}

/// Returns how often an unsafe call ran; `None` for a safe one.
fn runs_of(ended: &Ended, life: &RunRecord) -> Option<usize> {
    let (tool, key) = match &ended.nature {
        Nature::Dropped { key } => ("deploy", key),
        Nature::Unsafe { tool, key } => (*tool, key),
        Nature::News | Nature::Notice | Nature::Safe => return None,
    };
    let is_run =
        |run: &&Run| run.tool == tool && run.arguments["key"].as_str() == Some(key.as_str());
    Some(life.runs.iter().filter(is_run).count())
}

/// Notifications come in order and once. One that was pushed long after the cut must come, unless the stream
/// went silent.
fn news_fault(news: &str, all: &str, point: &Point) -> Option<String> {
    let read = |text: &str| serde_json::from_str::<Vec<u64>>(text).unwrap_or_default();
    let (news, all) = (read(news), read(all));
    if !news.windows(2).all(|pair| pair[0] < pair[1]) {
        return Some(format!("news came twice or out of order: {news:?}"));
    }
    // A stream that went silent is still open for the server, and a session has one at most (row 11).
    let is_deaf = news.last() != all.last() && point.harm.breaks != Break::Stall;
    is_deaf.then(|| format!("the last of the news never came: {news:?} of {all:?}"))
}

fn is_lost_in_silence(point: &Point) -> bool {
    point.protocol == Protocol::Http1 && point.harm.breaks == Break::Stall
}

fn is_deadline(ending: &Ending) -> bool {
    matches!(ending, Ending::Error { kind: Some(Kind::DeadlinePassed), .. })
}

#[cfg(test)]
mod tests;
