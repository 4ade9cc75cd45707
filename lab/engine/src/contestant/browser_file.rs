//! The program that clients find in `BROWSER`: a file, because the variable has no room for arguments.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::platform;

/// A program on disk, for as long as a client may start it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BrowserFile(PathBuf);

impl BrowserFile {
    /// Writes a program that starts these words, with its own arguments added.
    pub(super) fn write(words: &[&OsStr]) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ridethrough-lab-browser-{}-{number}", std::process::id());
        let file = Self(std::env::temp_dir().join(name));
        platform::write_program(&file.0, words)?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for BrowserFile {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}
