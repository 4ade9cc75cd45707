//! Grants in memory: for tests, and for programs that log in anew each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};

use super::{GrantStore, StoreError, StoreLock, Swap};

/// Keeps grants until the last clone is dropped.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    accounts: Arc<Mutex<HashMap<AccountKey, StoredAccount>>>,
}

#[derive(Debug, Default)]
struct StoredAccount {
    record: Option<GrantRecord>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryStore {
    fn with<T>(&self, account: &AccountKey, act: impl FnOnce(&mut StoredAccount) -> T) -> T {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        act(accounts.entry(account.clone()).or_default())
    }
}

impl GrantStore for MemoryStore {
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>> {
        Box::pin(async { Ok(self.with(account, |it| it.record.clone())) })
    }

    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        Box::pin(async {
            let lock = self.with(account, |it| it.lock.clone());
            Ok(StoreLock::new(account.clone(), lock.lock_owned().await))
        })
    }

    fn compare_and_swap<'a>(
        &'a self,
        lock: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>> {
        let swap = self.with(lock.account(), |it| {
            if it.record.as_ref() != expected {
                return Swap::Conflict(it.record.clone().map(Box::new));
            }
            it.record = new.cloned();
            Swap::Done
        });
        Box::pin(async { Ok(swap) })
    }
}
