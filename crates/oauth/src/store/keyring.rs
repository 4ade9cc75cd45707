//! Grants in the system's keyring, which the system may ask the person to unlock.
//!
//! A record is one secret of the keyring. A keyring has no lock that lasts over a request, so the locks are
//! files, which hold nothing.

use std::fmt;
use std::sync::Arc;

use keyring_core::{CredentialStore, Entry, Error};
use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::Secret;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};

use super::file::off_the_runtime;
use super::{FileStore, GrantStore, StoreError, StoreLock, Swap};

/// Keeps grants in the system's keyring.
///
/// The application chooses the keyring: a `CredentialStore` of one of the crates that `keyring-core` lists
/// for each system. Windows takes no secret of more than 2,560 bytes, which is less than most grants have.
///
/// ```
/// # fn example(keyring: std::sync::Arc<keyring_core::CredentialStore>) -> Result<(), ridethrough_oauth::store::StoreError> {
/// use ridethrough_oauth::OAuth;
/// use ridethrough_oauth::store::{FileStore, KeyringStore};
///
/// let store = KeyringStore::new(keyring, FileStore::new()?);
/// let oauth = OAuth::new("my app").store(store);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct KeyringStore {
    keyring: Arc<CredentialStore>,
    locks: FileStore,
}

impl KeyringStore {
    /// Keeps grants in this keyring, and lock files in the folder of `locks`.
    pub fn new(keyring: Arc<CredentialStore>, locks: FileStore) -> Self {
        Self { keyring, locks }
    }

    fn entry(&self, account: &AccountKey) -> Result<Entry, StoreError> {
        self.keyring.build(SERVICE, &account.file_stem(), None).map_err(|error| failed(&error))
    }

    fn load_now(&self, account: &AccountKey) -> Result<Option<GrantRecord>, StoreError> {
        let text = match self.entry(account)?.get_password() {
            Ok(text) => Secret::new(text),
            Err(Error::NoEntry) => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let record = GrantRecord::read(text.expose());
        let path = format!("{SERVICE}: {}", account.file_stem()).into();
        let record = record.map_err(|source| StoreError::Record { path, source })?;
        Ok(Some(record).filter(|record| account.owns(record)))
    }

    fn swap_now(
        &self,
        account: &AccountKey,
        expected: Option<&GrantRecord>,
        new: Option<&GrantRecord>,
    ) -> Result<Swap, StoreError> {
        let found = self.load_now(account)?;
        if found.as_ref() != expected {
            return Ok(Swap::Conflict(found.map(Box::new)));
        }
        let entry = self.entry(account)?;
        let done = match new {
            Some(record) => entry.set_password(record.write().expose()),
            None => entry.delete_credential(),
        };
        match done {
            Ok(()) | Err(Error::NoEntry) => Ok(Swap::Done),
            Err(error) => Err(failed(&error)),
        }
    }
}

impl GrantStore for KeyringStore {
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>> {
        let (store, account) = (self.clone(), account.clone());
        // The system may ask the person to unlock it.
        Box::pin(off_the_runtime(move || store.load_now(&account)))
    }

    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        self.locks.lock(account)
    }

    fn compare_and_swap<'a>(
        &'a self,
        lock: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>> {
        let (store, account) = (self.clone(), lock.account().clone());
        let (expected, new) = (expected.cloned(), new.cloned());
        Box::pin(off_the_runtime(move || store.swap_now(&account, expected.as_ref(), new.as_ref())))
    }
}

impl fmt::Debug for KeyringStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyringStore").field("locks", &self.locks).finish_non_exhaustive()
    }
}

/// Words the error ourselves: an error of a keyring may hold the secret that it could not read.
fn failed(error: &Error) -> StoreError {
    let words = match error {
        Error::NoStorageAccess(_) => "the keyring is locked, or cannot be reached; unlock it",
        Error::TooLong(..) => "the keyring takes no secret of this length; keep logins in files",
        Error::BadEncoding(_) | Error::BadDataFormat(..) | Error::BadStoreFormat(_) => {
            "the keyring holds something else under this name; delete it and log in again"
        }
        Error::Ambiguous(_) => "the keyring holds several secrets of this name; delete them",
        _ => "the keyring failed; keep logins in files if it does so again",
    };
    StoreError::Other(words.to_owned())
}

const SERVICE: &str = "ridethrough";
