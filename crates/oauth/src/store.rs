//! The stores of grants: by account, changed by one process at a time.

mod file;
#[cfg(feature = "keyring")]
mod keyring;
mod listing;
mod mcp_remote;
mod memory;

use std::fmt;
use std::io;
use std::path::PathBuf;

use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord, RecordError};

pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringStore;
pub use listing::StoredRecord;
pub use mcp_remote::McpRemoteStore;
pub(crate) use mcp_remote::{RemoteLogin, SharedStore};
pub use memory::MemoryStore;

/// Keeps the grants of people.
///
/// Several processes may use one store. A process that changes a grant holds its lock from the moment that
/// the record is read until it is written, a request to the authorization server in between included: a
/// refresh token that is sent twice may end the login of all of them.
pub trait GrantStore: Send + Sync + 'static {
    /// Returns the record of an account; `None` if there is none.
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>>;

    /// Waits for the lock of an account. Fails if that takes too long: nothing is sent then.
    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>>;

    /// Stores `new` in the place of `expected`; `None` means no record. If another record is found, nothing
    /// is changed and the record is returned.
    fn compare_and_swap<'a>(
        &'a self,
        lock: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>>;
}

/// The right to change the grant of an account, released when it is dropped.
pub struct StoreLock {
    account: AccountKey,
    _guard: Box<dyn Send + Sync>,
}

impl StoreLock {
    /// Makes the lock of this account, which is released when `guard` is dropped.
    pub fn new(account: AccountKey, guard: impl Send + Sync + 'static) -> Self {
        Self { account, _guard: Box::new(guard) }
    }

    /// Returns the account.
    pub const fn account(&self) -> &AccountKey {
        &self.account
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreLock").field("account", &self.account).finish_non_exhaustive()
    }
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// Nothing was changed: this record was found.
    Conflict(Option<Box<GrantRecord>>),
    /// The new record is in its place.
    Done,
}

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system returned an error.
    #[error("`{path}` could not be {doing}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `read`, `written`, `locked`.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("another process has held the lock `{path}` for too long; try again later")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// No folder was set, and the platform has none.
    #[error("there is no folder for logins; set `RIDETHROUGH_AUTH_DIR`")]
    NoFolder,
    /// The file or folder can be read or written by other users, or is a link.
    #[error("`{path}` is not used: {why}")]
    NotPrivate {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A store of the application's own failed.
    #[error("{0}")]
    Other(String),
    /// The record cannot be used. It is left unchanged.
    #[error("`{path}` cannot be used")]
    Record {
        /// The file.
        path: PathBuf,
        /// Why the record cannot be used.
        source: RecordError,
    },
}
