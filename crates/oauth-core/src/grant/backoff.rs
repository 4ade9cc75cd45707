//! When a refresh token may be sent again after a failed refresh.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// Waits longer after each failure, and counts equal refusals.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    /// Whether the one repetition without a wait was used.
    has_repeated: bool,
    wait: Option<Wait>,
    refusals: Vec<(Timestamp, String)>,
}

#[derive(Debug)]
struct Wait {
    from: Timestamp,
    length: Duration,
}

impl Backoff {
    /// Returns until when to wait; `None` if the wait is over. A clock that was set back does not make it
    /// longer.
    pub(super) fn until(&self, now: Timestamp) -> Option<Timestamp> {
        let wait = self.wait.as_ref()?;
        let end = wait.from + wait.length;
        (wait.from <= now && now < end).then_some(end)
    }

    /// Waits from now on, at least as long as the server asks for.
    pub(super) fn wait(&mut self, now: Timestamp, retry_after: Option<Duration>) {
        let length = match self.failures {
            0 => FIRST,
            1 => FIRST * 2,
            few if few < FEW => SHORT,
            many => SHORT.saturating_mul(1 << (many - FEW + 1).min(10)).min(LONGEST),
        };
        let asked = retry_after.unwrap_or_default().min(LONGEST_ASKED);
        self.failures = self.failures.saturating_add(1);
        self.wait = Some(Wait { from: now, length: length.max(asked) });
    }

    /// Uses the one repetition without a wait. Returns whether it was still there.
    pub(super) const fn take_repetition(&mut self) -> bool {
        !std::mem::replace(&mut self.has_repeated, true)
    }

    /// Counts a refusal. Returns whether there were three with this code within ten minutes.
    pub(super) fn count_refusal(&mut self, now: Timestamp, code: &str) -> bool {
        self.refusals.retain(|(at, _)| now.since(*at) < WINDOW);
        self.refusals.push((now, code.to_owned()));
        let equal = self.refusals.iter().filter(|(_, known)| known == code).count();
        equal >= MOST_EQUAL
    }
}

const FIRST: Duration = Duration::from_secs(2);
/// While a call may wait for the token: it waits for half a minute, and must not miss the end of the trouble.
const SHORT: Duration = Duration::from_secs(5);
/// After so many failures the calls that waited from the first are over.
const FEW: u32 = 6;
const LONGEST: Duration = Duration::from_secs(5 * 60);
/// The longest wait that a server can ask for; after it the server is asked again, in case it has recovered.
const LONGEST_ASKED: Duration = Duration::from_secs(60 * 60);
const WINDOW: Duration = Duration::from_secs(10 * 60);
const MOST_EQUAL: usize = 3;
