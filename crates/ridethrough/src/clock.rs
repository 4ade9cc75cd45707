//! The clock by which a link lives: tokio's, counted from the making of the link.
//!
//! The machine never reads a clock; this reads it for the machine. Under tokio's paused time it
//! stands still with everything else.

use std::time::Duration;

use ridethrough_core::Moment;
use tokio::time::Instant;

/// Tells moments of one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Moment {
        Moment::at(self.start.elapsed())
    }

    /// When that moment comes. One that no process lives to see is a century away.
    pub(crate) fn instant(self, moment: Moment) -> Instant {
        self.start + moment.elapsed().min(CENTURY)
    }
}

const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
