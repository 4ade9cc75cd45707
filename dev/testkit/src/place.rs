//! Where things are: programs that were built with this one, the repository, folders for a run.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};

/// Returns the absolute path of a program that was built with this one.
///
/// # Errors
///
/// Fails if there is none, and says how to build it.
pub fn beside(program: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know its own path")?;
    let folder = own.parent().unwrap_or(&own);
    // Tests are one folder below the programs that they test.
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    there(&folder.join(format!("{program}{}", std::env::consts::EXE_SUFFIX)))
}

/// Returns the absolute path of a program: it may be started in another folder.
///
/// # Errors
///
/// Fails if there is none, and says how to build it.
pub fn there(program: &Path) -> Result<PathBuf> {
    program.canonicalize().with_context(|| {
        let program = program.display();
        format!("there is no `{program}`; build it with `cargo build --workspace --bins`")
    })
}

/// Returns the folder of this repository, and one of this name below the target folder of the present build, which is
/// kept from run to run.
///
/// # Errors
///
/// Fails if the repository was moved since it was built.
pub fn root_and_scratch(name: &str) -> Result<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().context("the repository is not where it was built")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let scratch = target.unwrap_or_else(|| root.join("target")).join(name);
    Ok((root, scratch))
}

/// A folder for the files of a run, which is removed with it.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes a folder whose name begins like this.
    ///
    /// # Errors
    ///
    /// Fails if the system gives no folder.
    pub fn new(name: &str) -> Result<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("ridethrough-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Deref for ScratchFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // The system clears what is left in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
