//! Which states of rounds were used: each is good once.
//!
//! The record is behind an interface, because gateways that serve one door together must share it. It has an
//! epoch, made anew when it starts empty: states of another epoch are of no use, because nothing is known of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ridethrough_server::SealKey;
use tokio::time::Instant;

/// A number that no two states share, drawn at random.
pub type StateNumber = [u8; 16];

/// Records which states of rounds were used.
pub trait RoundStore: Send + Sync + 'static {
    /// Returns what tells this record apart from every other, also from an earlier one that was lost.
    fn epoch(&self) -> [u8; 32];

    /// Takes a state for use, and remembers that for this long. Returns whether it was not taken before.
    fn take(&self, state: StateNumber, time: Duration) -> BoxFuture<'_, bool>;

    /// Gives a state back: the round that it was taken for was not sent.
    fn give_back(&self, state: StateNumber) -> BoxFuture<'_, ()>;
}

/// Records used states in this process.
pub struct MemoryRounds {
    epoch: [u8; 32],
    used: Arc<Mutex<UsedStates>>,
}

#[derive(Default)]
struct UsedStates {
    until: BTreeMap<StateNumber, Instant>,
    /// In the order in which they may be forgotten.
    order: BTreeSet<(Instant, StateNumber)>,
}

impl Default for MemoryRounds {
    fn default() -> Self {
        let epoch = SealKey::random().expect("the operating system has randomness");
        Self { epoch, used: Arc::default() }
    }
}

impl MemoryRounds {
    fn lock(&self) -> MutexGuard<'_, UsedStates> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsedStates {
    /// Forgets states whose time is over, and the oldest if there are too many.
    fn trim(&mut self, now: Instant) {
        while let Some((until, state)) = self.order.first().copied()
            && (until <= now || self.order.len() > MOST)
        {
            self.order.pop_first();
            self.until.remove(&state);
        }
    }
}

impl RoundStore for MemoryRounds {
    fn epoch(&self) -> [u8; 32] {
        self.epoch
    }

    fn take(&self, state: StateNumber, time: Duration) -> BoxFuture<'_, bool> {
        let mut used = self.lock();
        let now = Instant::now();
        used.trim(now);
        let is_new = !used.until.contains_key(&state);
        if is_new {
            used.until.insert(state, now + time);
            used.order.insert((now + time, state));
        }
        ready(is_new).boxed()
    }

    fn give_back(&self, state: StateNumber) -> BoxFuture<'_, ()> {
        let mut used = self.lock();
        if let Some(until) = used.until.remove(&state) {
            used.order.remove(&(until, state));
        }
        ready(()).boxed()
    }
}

impl fmt::Debug for MemoryRounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRounds").finish_non_exhaustive()
    }
}

/// Some 10 MB at most.
const MOST: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_state_is_taken_once_unless_it_is_given_back() {
        let rounds = MemoryRounds::default();
        let time = Duration::from_secs(10);

        assert!(rounds.take([1; 16], time).await && rounds.take([2; 16], time).await);
        assert!(!rounds.take([1; 16], time).await);
        rounds.give_back([1; 16]).await;
        assert!(rounds.take([1; 16], time).await);
        assert!(!rounds.take([2; 16], time).await);
        tokio::time::advance(time).await;
        assert!(rounds.take([3; 16], time).await);
        let used = rounds.lock();
        assert_eq!((used.until.len(), used.order.len()), (1, 1), "the others are forgotten");
        assert_ne!(rounds.epoch(), MemoryRounds::default().epoch());
    }
}
