//! How often access tokens were refused lately.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// The times of the last refusals.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Timestamp>);

impl Refusals {
    /// Counts one; whether there are too many. A server that refuses each new token would otherwise be
    /// sent thousands a day.
    pub(super) fn count(&mut self, now: Timestamp) -> bool {
        self.0.retain(|at| now.since(*at) < WINDOW);
        self.0.push(now);
        self.0.len() > MOST
    }
}

const WINDOW: Duration = Duration::from_secs(30 * 60);
const MOST: usize = 5;
