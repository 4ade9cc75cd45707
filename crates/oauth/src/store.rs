//! Where grants are kept: by account, one process at a time.

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
/// Several processes may use one store. Whoever changes a grant holds its lock from the moment that the
/// record is read until it is written, a request to the authorization server in between included: a
/// refresh token that is sent twice may end the login of all of them.
pub trait GrantStore: Send + Sync + 'static {
    /// The record of an account; `None` if there is none.
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>>;

    /// Waits for the lock of an account. An error if it cannot be had in time: nothing is sent then.
    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>>;

    /// Puts `new` in the place of `expected`; `None` is no record. Nothing is changed if another record
    /// is found, which is then the answer.
    fn compare_and_swap<'a>(
        &'a self,
        lock: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>>;
}

/// The right to change the grant of an account; given back when it is dropped.
pub struct StoreLock {
    account: AccountKey,
    _guard: Box<dyn Send + Sync>,
}

impl StoreLock {
    /// The lock of this account, which is given back when `guard` is dropped.
    pub fn new(account: AccountKey, guard: impl Send + Sync + 'static) -> Self {
        Self { account, _guard: Box::new(guard) }
    }

    /// The account.
    pub const fn account(&self) -> &AccountKey {
        &self.account
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreLock").field("account", &self.account).finish_non_exhaustive()
    }
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// Nothing was changed: this is what was found.
    Conflict(Option<Box<GrantRecord>>),
    /// The new record is in its place.
    Done,
}

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system failed.
    #[error("`{path}` could not be {doing}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `read`, `written`, `locked`.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("another process has held the lock `{path}` for too long; try again later")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// No folder was named, and the platform has none.
    #[error("there is no folder for logins; set `RIDETHROUGH_AUTH_DIR`")]
    NoFolder,
    /// A file or folder that others can write or read, or that leads elsewhere.
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
    /// A record that cannot be used. It is left as it is.
    #[error("`{path}` cannot be used")]
    Record {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RecordError,
    },
}
