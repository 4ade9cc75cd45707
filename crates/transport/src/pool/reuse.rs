//! Whether an idle connection can be trusted with a request.
//!
//! Some servers close a connection soon after an answer without announcing it. A request that goes out at
//! that moment is in doubt. After a few of those in a row, requests use only connections that were idle for
//! clearly less than any that was found dead, and none once a request was lost, until some time has passed.
//! Then the link's own requests go first: a lost call may not be repeatable.

use std::time::Duration;

use ridethrough_core::Lane;
use tokio::time::Instant;

/// What became of idle connections.
#[derive(Default)]
pub(super) struct Reuse {
    /// How many were dead, one after the other.
    failures: u32,
    last_failure: Option<Instant>,
    /// The shortest idle time of those.
    shortest: Duration,
}

/// An idle time of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// When the connection was made.
    pub(super) made: Instant,
    /// How long it had been idle when it was used, or found dead.
    pub(super) rested: Duration,
}

impl Reuse {
    /// Notes that a connection that had been idle has answered.
    pub(super) fn worked(&mut self) {
        *self = Self::default();
    }

    /// Notes that a connection was found closed when it was to be used.
    pub(super) fn failed(&mut self, rest: Rest, now: Instant) {
        // Connections made before the last failure most likely died with it, by a restart and not by habit.
        if self.last_failure.is_some_and(|last| rest.made < last) {
            return;
        }
        let is_first = self.failures == 0;
        self.shortest = if is_first { rest.rested } else { self.shortest.min(rest.rested) };
        self.failures += 1;
        self.last_failure = Some(now);
    }

    /// Notes that a connection that had been idle accepted a request, and was closed before any answer.
    /// However short its idle time was, it was too long.
    pub(super) fn lost(&mut self, made: Instant, now: Instant) {
        self.failed(Rest { made, rested: Duration::ZERO }, now);
    }

    /// Whether a connection that was idle for so long may carry a request of this lane.
    pub(super) fn trusts(&self, lane: Lane, rested: Duration, now: Instant) -> bool {
        let wait = if lane == Lane::Call { CALLS_AFTER } else { OTHERS_AFTER };
        let is_recent = self.last_failure.is_some_and(|last| now < last + wait);
        self.failures < FAILURES || !is_recent || rested < self.shortest / 2
    }
}

/// How many failures count as a habit: one may be chance, two a restart.
const FAILURES: u32 = 3;
/// How long the link's own requests avoid idle connections: the server may have been replaced by one that
/// keeps them.
const OTHERS_AFTER: Duration = Duration::from_secs(60);
const CALLS_AFTER: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn three_dead_connections_in_a_row_end_the_trust_in_rests_of_their_length() {
        let mut reuse = Reuse::default();

        for _ in 0..3 {
            assert!(reuse.trusts(Lane::Call, secs(4), Instant::now()));
            die(&mut reuse, secs(4)).await;
        }

        assert!(!reuse.trusts(Lane::Call, secs(4), Instant::now()));
        assert!(!reuse.trusts(Lane::Call, secs(2), Instant::now()));
        assert!(reuse.trusts(Lane::Call, secs(1), Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn one_restart_that_takes_many_connections_is_one_failure() {
        let mut reuse = Reuse::default();
        let made = Instant::now();
        tokio::time::advance(secs(1)).await;

        for _ in 0..5 {
            reuse.failed(Rest { made, rested: secs(1) }, Instant::now());
        }

        assert!(reuse.trusts(Lane::Call, secs(1), Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_or_ten_minutes_bring_the_trust_back() {
        let (mut answered, mut waited) = (Reuse::default(), Reuse::default());
        for _ in 0..3 {
            die(&mut answered, secs(1)).await;
            die(&mut waited, secs(1)).await;
        }

        answered.worked();
        assert!(answered.trusts(Lane::Call, secs(1), Instant::now()));
        assert!(!waited.trusts(Lane::Control, secs(1), Instant::now()));
        tokio::time::advance(secs(60)).await;
        assert!(waited.trusts(Lane::Control, secs(1), Instant::now()), "the link tries it first");
        assert!(!waited.trusts(Lane::Call, secs(1), Instant::now()));
        tokio::time::advance(secs(540)).await;
        assert!(waited.trusts(Lane::Call, secs(1), Instant::now()));
        die(&mut waited, secs(1)).await;
        assert!(!waited.trusts(Lane::Call, secs(1), Instant::now()), "one more failure is enough");
    }

    async fn die(reuse: &mut Reuse, rested: Duration) {
        let made = Instant::now();
        tokio::time::advance(rested).await;
        reuse.failed(Rest { made, rested }, Instant::now());
    }

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }
}
