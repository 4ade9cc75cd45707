//! The project files that the user has approved, each by its path and the digest of its content.
//!
//! A file in a working directory may have come with a repository from anywhere. An approval holds for exactly
//! the bytes that were approved: once the file changes, it has to be approved again. The list is the user's
//! own file. A list that other users may write approves nothing.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use ridethrough_bridge::disk;
use serde::{Deserialize, Serialize};

use crate::folders;

/// The user's list of approved files.
pub struct Approvals {
    /// Where the list is kept; `None` if the user has no folder for it.
    path: Option<PathBuf>,
    kept: StoredApprovals,
}

/// The digests of approved files, by their paths.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredApprovals {
    approved: BTreeMap<String, String>,
    /// The files that the user was told of, so that each is told once.
    told: BTreeMap<String, String>,
}

impl Approvals {
    /// Reads the list. A list that cannot be used is reported on stderr, and approves nothing.
    pub fn read() -> Self {
        let path = folders::state().map(|folder| folder.join("approved.json"));
        let text = path.as_deref().map_or(Ok(None), |path| disk::read(path, MOST_BYTES));
        let kept = text.map_err(|why| why.to_string()).and_then(|text| match text {
            None => Ok(StoredApprovals::default()),
            Some(text) => serde_json::from_slice(&text).map_err(|_| "it is broken".to_owned()),
        });
        let kept = kept.unwrap_or_else(|why| {
            let path = path.clone().unwrap_or_default();
            // A command may read the list several times.
            WARNING.call_once(|| {
                eprintln!("warning: no file is taken for approved: {}: {why}", path.display());
            });
            StoredApprovals::default()
        });
        Self { path, kept }
    }

    /// Whether this file was approved with just these bytes.
    pub fn has(&self, file: &Path, bytes: &[u8]) -> bool {
        self.kept.approved.get(&name(file)) == Some(&disk::digest(bytes))
    }

    /// Approves this file with just these bytes.
    pub fn add(&mut self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.kept.approved.insert(name(file), disk::digest(bytes));
        self.write()
    }

    /// Takes an approval back. Returns whether there was one.
    pub fn forget(&mut self, file: &Path) -> io::Result<bool> {
        let was_there = self.kept.approved.remove(&name(file)).is_some();
        self.write().map(|()| was_there)
    }

    /// Whether the user has not yet been told of this file with just these bytes. Notes that they have been.
    pub fn is_news(&mut self, file: &Path, bytes: &[u8]) -> bool {
        let digest = disk::digest(bytes);
        let before = self.kept.told.insert(name(file), digest.clone());
        let is_news = before.as_ref() != Some(&digest);
        if is_news {
            // If it cannot be stored, the user is told each time.
            let _ = self.write();
        }
        is_news
    }

    fn write(&self) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Err(io::Error::other("this user has no folder for it"));
        };
        disk::write(path, &serde_json::to_vec_pretty(&self.kept)?)
    }
}

/// Returns the canonical name of a file, however it was reached.
fn name(file: &Path) -> String {
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    path.to_string_lossy().into_owned()
}

static WARNING: Once = Once::new();
const MOST_BYTES: u64 = 1 << 20;
