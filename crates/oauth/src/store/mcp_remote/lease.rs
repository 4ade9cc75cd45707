//! The lease by which processes of `mcp-remote` take turns to refresh.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ridethrough_oauth_core::Timestamp;
use ridethrough_oauth_core::mcp_remote::{Holder, Lease};
use tokio::time::{Instant, sleep};

use super::McpRemoteStore;
use crate::clock::{self, Clock};
use crate::platform;
use crate::store::StoreError;
use crate::store::file::off_the_runtime;

/// The right to refresh, released when it is dropped.
#[derive(Debug)]
pub(super) struct HeldLease {
    path: PathBuf,
    nonce: String,
}

impl HeldLease {
    /// Waits for the lease. Fails if that takes too long: nothing is sent then.
    pub(super) async fn take(store: &McpRemoteStore) -> Result<Self, StoreError> {
        let path = store.lease_path();
        let end = Instant::now() + WITHIN;
        loop {
            let tried = path.clone();
            if let Some(lease) = off_the_runtime(move || try_take(&tried)).await? {
                return Ok(lease);
            }
            if Instant::now() >= end {
                return Err(StoreError::Locked { path });
            }
            sleep(ASK_EVERY).await;
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        // A lease that another process has taken is its own to remove; a lease that cannot be removed
        // expires.
        if read(&self.path).is_some_and(|lease| lease.nonce == self.nonce) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn try_take(path: &Path) -> Result<Option<HeldLease>, StoreError> {
    let now = Clock::default().now();
    let lease = Lease::new(std::process::id(), clock::random(), now);
    for _ in 0..2 {
        if create(path, &lease)? {
            let is_ours = read(path).is_some_and(|it| it.nonce == lease.nonce);
            let held = HeldLease { path: path.to_owned(), nonce: lease.nonce };
            return Ok(is_ours.then_some(held));
        }
        if is_held(path, now) {
            return Ok(None);
        }
        // Another process may have removed it, too.
        let _ = fs::remove_file(path);
    }
    Ok(None)
}

/// Whether another process may be at work. A lease that cannot be read yet is being written.
fn is_held(path: &Path, now: Timestamp) -> bool {
    match read(path) {
        Some(lease) => {
            let is_running = platform::is_running(lease.pid);
            lease.is_live(now, if is_running { Holder::Running } else { Holder::Gone })
        }
        None => {
            let written = fs::metadata(path).and_then(|it| it.modified());
            written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < BEING_WRITTEN))
        }
    }
}

/// Creates the whole lease in one step, if there is none. Returns whether it did.
fn create(path: &Path, lease: &Lease) -> Result<bool, StoreError> {
    let failed = |source| StoreError::Io { path: path.to_owned(), doing: "locked", source };
    let unfinished = path.with_extension(format!("{}.tmp", lease.nonce));
    let written = platform::create_private(&unfinished)
        .and_then(|mut file| file.write_all(lease.write().as_bytes()))
        .and_then(|()| fs::hard_link(&unfinished, path));
    // It may not exist; it holds no secret.
    let _ = fs::remove_file(&unfinished);
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(failed(source)),
    }
}

fn read(path: &Path) -> Option<Lease> {
    Lease::read(&fs::read_to_string(path).ok()?)
}

/// How long to wait for the lease: as long as for another process of ours.
const WITHIN: Duration = Duration::from_secs(20);
const ASK_EVERY: Duration = Duration::from_millis(50);
const BEING_WRITTEN: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_is_held_by_one_and_given_back() {
        let folder = folder("held");
        let store = McpRemoteStore::at(&folder, "https://mcp.example/mcp");
        let path = store.lease_path();
        fs::create_dir_all(path.parent().unwrap()).unwrap();

        let lease = HeldLease::take(&store).await.unwrap();

        assert!(try_take(&path).unwrap().is_none());
        assert_eq!(read(&path).unwrap().pid, std::process::id());
        drop(lease);
        assert!(!path.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_lease_of_a_dead_process_is_taken_over_and_one_that_is_being_written_is_not() {
        let folder = folder("dead");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("lease.json");
        // No process has this number: it is above every limit of the kernel.
        fs::write(&path, Lease::new(0x7fff_fff0, [1; 16], Clock::default().now()).write()).unwrap();

        let taken = try_take(&path).unwrap();

        assert!(taken.is_some());
        drop(taken);
        fs::write(&path, "").unwrap();
        assert!(try_take(&path).unwrap().is_none());
        fs::remove_dir_all(folder).unwrap();
    }

    /// After a time-out of ours another process may hold the lease.
    #[test]
    fn a_lease_of_somebody_else_is_not_removed() {
        let folder = folder("other");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("lease.json");
        let ours = try_take(&path).unwrap().unwrap();
        fs::write(&path, Lease::new(1, [2; 16], Clock::default().now()).write()).unwrap();

        drop(ours);

        assert!(path.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("ridethrough-lease-{name}-{}", std::process::id()))
    }
}
