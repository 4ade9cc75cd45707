//! What a measurement needs around it: programs beside this one, progress, and a folder for files.

use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};

/// Returns the path of a program that was built with this one.
pub(crate) fn beside(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let folder = own.parent().context("this program is in no folder")?;
    // Tests are one folder below the programs that they test.
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    let path = folder.join(name);
    let hint = "`./bench` builds all of them";
    ensure!(path.exists(), "there is no `{name}` beside this program: {hint}");
    Ok(path)
}

/// Shows what is being measured, on stderr: in place on a terminal, a line for each figure elsewhere.
pub(crate) struct Progress {
    what: String,
    rounds: usize,
}

impl Progress {
    pub(crate) fn new(what: impl Into<String>, rounds: usize) -> Self {
        Self { what: what.into(), rounds }
    }

    /// Shows that a round begins, counted from 0.
    pub(crate) fn round(&self, number: usize) {
        let Self { what, rounds } = self;
        if stderr().is_terminal() {
            eprint!("\r\x1b[2K{what}: round {} of {rounds}", number + 1);
            // If this fails, no one sees the progress, which does no harm.
            let _ = stderr().flush();
        } else if number == 0 {
            eprintln!("{what}: {rounds} rounds");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if stderr().is_terminal() {
            eprintln!();
        }
    }
}

/// A folder for files of the measurement, removed with it.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn new() -> Result<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "ridethrough-bench-{}-{}",
            std::process::id(),
            LAST.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).context("no folder for files of the measurement")?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The system clears what is left in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
