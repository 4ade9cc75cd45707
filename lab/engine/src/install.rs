//! Installs published clients into a scratch folder, ready to be started.
//!
//! An installation with unchanged pins is used as it is. A package manager that is missing or cannot reach
//! its registry is not a failure of a client: it is reported separately, so that a table can say `not run`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::rivals::{Part, Rival};

mod manager;
mod step;

pub use manager::{Manager, NotBrought};

/// A folder with a subfolder for each client, kept from run to run.
#[derive(Clone, Debug)]
pub struct Workshop {
    folder: PathBuf,
}

/// Why a client cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum NotInstalled {
    /// Its files could not be written.
    #[error("its files could not be written: {0}")]
    Files(#[from] io::Error),
    /// The package manager did not install it.
    #[error(transparent)]
    NotBrought(#[from] NotBrought),
}

impl Workshop {
    /// Creates a workshop in this folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the user's folder for caches, or else the system's folder for temporary files.
    pub fn default_folder() -> PathBuf {
        let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let cache = variable("XDG_CACHE_HOME")
            .or_else(|| variable("LOCALAPPDATA"))
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
        cache.unwrap_or_else(std::env::temp_dir).join("ridethrough/lab-clients")
    }

    /// Makes sure that a rival can be started, and returns the command that starts it: that of a client's
    /// adapter, to which the URL and a script are added, or that of a bridge, with `{url}` in the place of
    /// the URL. `tell` gets messages about the progress.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be started; other clients are not affected.
    pub async fn install(
        &self,
        rival: &Rival,
        mut tell: impl FnMut(&str),
    ) -> Result<Vec<PathBuf>, NotInstalled> {
        let folder = self.folder.join(rival.name);
        for (path, text) in rival.files() {
            write_if_changed(&folder.join(path), text)?;
        }
        // A client may run in any working directory, so its path must be absolute.
        let folder = folder.canonicalize()?;
        let (pins, stamp) = (rival.pins(), folder.join("installed"));
        let is_there = std::fs::read_to_string(&stamp).is_ok_and(|it| it == pins);
        // Cargo itself checks whether anything changed.
        if !is_there || rival.manager == Manager::Cargo {
            // Without its pins, an installation that is interrupted is begun anew by the next run.
            let _ = std::fs::remove_file(&stamp);
            let mut tell_name = |what: &str| tell(&format!("{}: {what}", rival.name));
            rival.manager.bring(&folder, &mut tell_name).await?;
            std::fs::write(&stamp, pins)?;
        }
        Ok(match rival.part {
            Part::Bridge { command, logins, .. } => {
                let kept = logins.map(|variable| kept_in(variable, &folder));
                let command = rival.manager.bridge(&folder, command);
                kept.into_iter().flatten().chain(command).collect()
            }
            Part::Client => rival.manager.adapter(&folder),
        })
    }
}

/// Returns the words before a command that make it keep its logins in this folder: those of the person at
/// this machine are left alone.
fn kept_in(variable: &str, folder: &Path) -> [PathBuf; 2] {
    let mut setting = OsString::from(variable);
    setting.push("=");
    setting.push(folder.join("logins"));
    ["env".into(), setting.into()]
}

/// Writes a file unless its text is unchanged, so that it keeps its time and cargo does not build again.
fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_that_logs_in_does_so_in_a_folder_of_its_own() {
        let words = kept_in("LOGINS", Path::new("/a b"));

        assert_eq!(words, [PathBuf::from("env"), PathBuf::from("LOGINS=/a b/logins")]);
    }

    #[test]
    fn a_file_that_is_the_same_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("ridethrough-files-{}", std::process::id()));
        let path = folder.join("src/main.rs");
        let time = || std::fs::metadata(&path).unwrap().modified().unwrap();
        write_if_changed(&path, "one").unwrap();
        let long_ago = time() - std::time::Duration::from_secs(100);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(long_ago).unwrap();

        write_if_changed(&path, "one").unwrap();
        let kept = time();
        write_if_changed(&path, "two").unwrap();

        assert_eq!(kept, long_ago);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
