//! Counts refused access tokens, and decides how long none are asked for after that.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// The times of the last refusals, and the pause after tokens that were refused as soon as they were issued.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    times: Vec<Timestamp>,
    /// How many pauses there were without a token that worked for a while.
    pauses: u32,
    pause: Option<(Timestamp, Duration)>,
}

impl Refusals {
    /// Counts a refusal. Returns whether there are too many: a server that refuses each new token would
    /// otherwise be sent thousands a day.
    pub(super) fn count(&mut self, now: Timestamp) -> bool {
        self.times.retain(|at| now.since(*at) < WINDOW);
        self.times.push(now);
        self.times.len() > MOST
    }

    /// Begins a pause, longer each time: the server may be at fault for a while, as when its keys are
    /// replaced, or for ever.
    pub(super) fn pause(&mut self, now: Timestamp) {
        let length = FIRST_PAUSE.saturating_mul(1 << self.pauses.min(10)).min(LONGEST_PAUSE);
        self.pauses = self.pauses.saturating_add(1);
        self.pause = Some((now, length));
    }

    /// Whether the pause is over. A clock that was set back ends it, too.
    pub(super) fn is_pause_over(&self, now: Timestamp) -> bool {
        self.pause.is_none_or(|(from, length)| now < from || from + length <= now)
    }

    /// Forgets the refusals, because a token worked for a while.
    pub(super) const fn forgive(&mut self) {
        self.pauses = 0;
        self.pause = None;
    }
}

const WINDOW: Duration = Duration::from_secs(30 * 60);
const MOST: usize = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(5 * 60);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
