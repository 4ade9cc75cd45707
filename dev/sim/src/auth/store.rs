//! The store that all processes of a world share, and the handle that one of them has.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough::transport::BoxFuture;
use ridethrough_oauth::store::{GrantStore, StoreError, StoreLock, Swap};
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};
use tokio::time::Instant;

use super::faults::AuthFault;
use super::process::{LockSlot, Process};
use super::truth::Truth;

/// The store. Clones share one.
#[derive(Clone, Default)]
pub(super) struct SharedStore {
    stored: Arc<Mutex<Stored>>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Stored {
    record: Option<GrantRecord>,
    /// Until when nothing can be written.
    fails_until: Option<Instant>,
}

impl SharedStore {
    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One process's way to the store.
pub(super) struct ProcessStore {
    pub(super) process: Process,
    pub(super) store: SharedStore,
    pub(super) truth: Truth,
}

impl ProcessStore {
    /// Whether the store cannot be written now.
    fn fails(&self) -> bool {
        let now = Instant::now();
        if self.truth.happens(AuthFault::StoreFails) {
            self.store.stored().fails_until = Some(now + Duration::from_secs(1));
        }
        self.store.stored().fails_until.is_some_and(|until| now < until)
    }

    /// The process dies if this fault happens, and nothing follows.
    async fn perhaps_dies(&self, fault: AuthFault) {
        if self.truth.happens(fault) {
            self.truth.oracle().killed(self.process.number);
            self.process.kill();
            pending().await
        }
    }

    async fn swap(
        &self,
        expected: Option<&GrantRecord>,
        new: Option<&GrantRecord>,
    ) -> Result<Swap, StoreError> {
        self.process.alive().await;
        self.perhaps_dies(AuthFault::KilledBefore).await;
        if self.fails() {
            self.truth.oracle().not_stored();
            return Err(StoreError::Other("no space".to_owned()));
        }
        let swap = {
            let mut stored = self.store.stored();
            if stored.record.as_ref() == expected {
                stored.record = new.cloned();
                Swap::Done
            } else {
                Swap::Conflict(stored.record.clone().map(Box::new))
            }
        };
        if swap == Swap::Done {
            self.truth.oracle().stored(self.process.number, new);
        }
        self.perhaps_dies(AuthFault::KilledAfter).await;
        Ok(swap)
    }
}

impl GrantStore for ProcessStore {
    fn load<'a>(
        &'a self,
        _: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>> {
        Box::pin(async {
            self.process.alive().await;
            if self.truth.oracle().loaded(self.process.number) {
                pending().await
            }
            Ok(self.store.stored().record.clone())
        })
    }

    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        Box::pin(async {
            self.process.alive().await;
            let guard = tokio::select! {
                biased;
                () = self.process.death() => pending().await,
                guard = self.store.lock.clone().lock_owned() => guard,
            };
            let held = Held(self.process.owns_lock(guard));
            Ok(StoreLock::new(account.clone(), held))
        })
    }

    fn compare_and_swap<'a>(
        &'a self,
        _: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>> {
        Box::pin(self.swap(expected, new))
    }
}

/// Gives the lock back when it is dropped.
struct Held(LockSlot);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.give_back();
    }
}
