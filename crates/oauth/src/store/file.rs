//! Grants in files: one for each account, readable by its owner only, never half written.
//!
//! A record is written to a file of its own, forced to the disk and renamed into its place. The lock is the
//! kernel's, on a file beside it, so that it ends with its process. Files are opened only if they are this
//! user's alone: a symbolic link is not followed.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};
use tokio::time::{Instant, sleep};

use super::{GrantStore, StoreError, StoreLock, Swap};
use crate::clock;
use crate::platform;

/// Keeps grants in a folder.
#[derive(Clone, Debug)]
pub struct FileStore {
    pub(super) folder: PathBuf,
    lock_within: Duration,
}

impl FileStore {
    /// Keeps grants in `$RIDETHROUGH_AUTH_DIR`, or in `ridethrough/auth` of the platform's data folder.
    ///
    /// Fails if there is neither.
    pub fn new() -> Result<Self, StoreError> {
        let named = std::env::var_os("RIDETHROUGH_AUTH_DIR").filter(|it| !it.is_empty());
        let usual = || platform::data_folder().map(|folder| folder.join("ridethrough/auth"));
        let folder = named.map(PathBuf::from).or_else(usual).ok_or(StoreError::NoFolder)?;
        Ok(Self::at(folder))
    }

    /// Keeps grants in this folder, which is created when it is first needed.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), lock_within: LOCK_WITHIN }
    }

    /// Sets how long to wait for another process; by default 20 s, which is more than a refresh takes.
    #[must_use]
    pub const fn lock_within(mut self, time: Duration) -> Self {
        self.lock_within = time;
        self
    }

    fn path(&self, account: &AccountKey, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", account.file_stem()))
    }
}

impl GrantStore for FileStore {
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>> {
        let (path, account) = (self.path(account, RECORD), account.clone());
        Box::pin(off_the_runtime(move || load(&path, &account)))
    }

    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        let (folder, path) = (self.folder.clone(), self.path(account, LOCK));
        Box::pin(async move {
            let opened = path.clone();
            let file = off_the_runtime(move || open_lock(&folder, &opened)).await?;
            let file = lock(file, &path, self.lock_within).await?;
            Ok(StoreLock::new(account.clone(), file))
        })
    }

    fn compare_and_swap<'a>(
        &'a self,
        lock: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>> {
        let (folder, path) = (self.folder.clone(), self.path(lock.account(), RECORD));
        let (account, expected, new) = (lock.account().clone(), expected.cloned(), new.cloned());
        Box::pin(off_the_runtime(move || {
            let found = load(&path, &account)?;
            if found != expected {
                return Ok(Swap::Conflict(found.map(Box::new)));
            }
            match new {
                Some(new) => write(&folder, &path, &new)?,
                None => remove(&path)?,
            }
            Ok(Swap::Done)
        }))
    }
}

/// Runs file operations on a thread for blocking work: files are slow on a network, and the runtime's threads
/// serve others.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(act).await;
    done.unwrap_or_else(|_| Err(StoreError::Other("the runtime has ended".to_owned())))
}

/// Tries the lock again and again: a thread that waits in the kernel could not be cancelled.
async fn lock(file: File, path: &Path, within: Duration) -> Result<File, StoreError> {
    let end = Instant::now() + within;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(failed(path, "locked", source)),
            Err(TryLockError::WouldBlock) if Instant::now() >= end => {
                return Err(StoreError::Locked { path: path.to_owned() });
            }
            Err(TryLockError::WouldBlock) => sleep(ASK_EVERY).await,
        }
    }
}

fn open_lock(folder: &Path, path: &Path) -> Result<File, StoreError> {
    make_folder(folder)?;
    let file = platform::open_lock(path).map_err(|source| failed(path, "locked", source))?;
    check(path, &file)?;
    Ok(file)
}

/// Reads the record of an account. A record of another account in this file is not used, however it came
/// there.
fn load(path: &Path, account: &AccountKey) -> Result<Option<GrantRecord>, StoreError> {
    Ok(read(path)?.filter(|record| account.owns(record)))
}

pub(super) fn read(path: &Path) -> Result<Option<GrantRecord>, StoreError> {
    let file = match platform::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(path, "read", source)),
    };
    check(path, &file)?;
    let mut text = String::new();
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map_err(|source| failed(path, "read", source))?;
    let record = GrantRecord::read(&text);
    let record = record.map_err(|source| StoreError::Record { path: path.to_owned(), source })?;
    Ok(Some(record))
}

fn write(folder: &Path, path: &Path, record: &GrantRecord) -> Result<(), StoreError> {
    make_folder(folder)?;
    let chance: u64 = u64::from_be_bytes(clock::random());
    let unfinished = path.with_extension(format!("{chance:016x}.tmp"));
    let written = platform::create_private(&unfinished).and_then(|mut file| {
        file.write_all(record.write().expose().as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        platform::sync_folder(folder)
    });
    written.map_err(|source| {
        // It may not exist; a leftover holds no more than the file itself would have.
        let _ = fs::remove_file(&unfinished);
        failed(path, "written", source)
    })
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(path, "deleted", error))
        }
        _ => Ok(()),
    }
}

fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let made = platform::make_private(folder).and_then(|()| fs::symlink_metadata(folder));
    let found = made.map_err(|source| failed(folder, "made", source))?;
    let not_private = |why| StoreError::NotPrivate { path: folder.to_owned(), why };
    if !found.is_dir() {
        return Err(not_private("it is no folder"));
    }
    platform::check_private(&found).map_err(not_private)
}

fn check(path: &Path, file: &File) -> Result<(), StoreError> {
    let found = file.metadata().map_err(|source| failed(path, "read", source))?;
    let not_private = |why| StoreError::NotPrivate { path: path.to_owned(), why };
    if !found.is_file() {
        return Err(not_private("it is no regular file"));
    }
    platform::check_private(&found).map_err(not_private)
}

fn failed(path: &Path, doing: &'static str, source: io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), doing, source }
}

pub(super) const RECORD: &str = "json";
const LOCK: &str = "lock";
/// How long to wait for a lock. A refresh takes 10 s at most, and its repetition 10 s more.
const LOCK_WITHIN: Duration = Duration::from_secs(20);
const ASK_EVERY: Duration = Duration::from_millis(20);
/// The most bytes of a record, which has a few kilobytes.
const LONGEST: u64 = 1 << 20;
