//! Lists all grants of a folder, for people who want to see them.

use std::path::{Path, PathBuf};

use ridethrough_oauth_core::store::GrantRecord;

use super::StoreError;
use super::file::{self, FileStore};

/// A file of a store: its record, or why the record cannot be used.
pub type StoredRecord = (PathBuf, Result<GrantRecord, StoreError>);

impl FileStore {
    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns all records, in the order of their files. Nothing is locked or changed; a missing folder holds
    /// none.
    pub fn records(&self) -> Result<Vec<StoredRecord>, StoreError> {
        let failed = |source| StoreError::Io { path: self.folder.clone(), doing: "read", source };
        let files = match std::fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let paths: Result<Vec<_>, _> = files.map(|file| file.map(|file| file.path())).collect();
        let mut paths = paths.map_err(failed)?;
        paths.retain(|path| path.extension().is_some_and(|it| it == file::RECORD));
        paths.sort();
        // A file that was deleted in between is left out.
        let read = |path: PathBuf| Some((path.clone(), file::read(&path).transpose()?));
        Ok(paths.into_iter().filter_map(read).collect())
    }
}
