//! What must hold between requests: pauses, and how many streams are open at once.

use std::time::Duration;

use super::beyond;
use crate::scenario::{Bounds, Match, Pauses};
use crate::stage::Account;
use crate::{Deed, What};

/// The tolerance of pauses: timers may fire early by their grain.
const GRAIN: Duration = Duration::from_millis(10);

pub(super) fn pauses(pauses: &Pauses, account: &Account) -> Option<String> {
    let least = Duration::from_secs_f64(pauses.at_least).saturating_sub(GRAIN);
    let mut before: Option<usize> = None;
    for (place, entry) in account.log.iter().enumerate() {
        if pauses.of.holds(entry)
            && let Some(before) = before
        {
            let pause = entry.at.saturating_sub(end(account, before, entry.at));
            if pause < least {
                let (pause, least) = (pause.as_secs_f64(), pauses.at_least);
                let what = crate::journal::in_words(entry);
                let at = entry.at.as_secs_f64();
                return Some(format!("{what} at {at:.3} s came after {pause:.3} s, not {least} s"));
            }
        }
        let earlier: &Match = pauses.after.as_ref().unwrap_or(&pauses.of);
        if earlier.holds(entry) {
            before = Some(place);
        }
    }
    None
}

/// Returns when the answer to a request ended, as of this moment; if it has not ended, when the request came.
fn end(account: &Account, request: usize, by: Duration) -> Duration {
    let over = account.marks.iter().filter(|it| it.request == request && it.at <= by);
    let over = over.filter(|it| is_end(&it.deed)).map(|it| it.at);
    over.max().unwrap_or(account.log[request].at)
}

pub(super) fn standing(bounds: &Bounds, account: &Account) -> Option<String> {
    let most = most_at_once(account);
    beyond(bounds, most, "standing streams at the same time")
}

fn most_at_once(account: &Account) -> u64 {
    let mut open = Vec::new();
    let mut most = 0;
    for mark in &account.marks {
        let is_standing = match &account.log[mark.request].what {
            What::Listen | What::Resume => true,
            What::Request { method, .. } => method == "subscriptions/listen",
            _ => false,
        };
        match &mark.deed {
            Deed::Opened if is_standing => open.push(mark.request),
            deed if is_end(deed) => open.retain(|request| *request != mark.request),
            _ => {}
        }
        most = most.max(open.len() as u64);
    }
    most
}

const fn is_end(deed: &Deed) -> bool {
    matches!(
        deed,
        Deed::Answered(_) | Deed::Cancelled | Deed::Cut | Deed::Ended | Deed::Gone | Deed::Reset
    )
}
