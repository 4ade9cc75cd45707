//! Config files on the disk: read, written in one step, and kept as they were.
//!
//! A backup lies beside its file and is never overwritten: a second one has a number. A file is
//! replaced by renaming a whole new one over it, through links to where it really lies, so that no
//! reader ever sees half of it.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Writes a file anew, provided that it still says `old`, and gives the path of the backup.
pub(super) fn replace(path: &Path, old: &str, new: &str) -> Result<PathBuf> {
    if fs::read(path)? != old.as_bytes() {
        bail!("it was changed by somebody else meanwhile; run the command again");
    }
    let backup = free_backup(path);
    copy(path, &backup, old).with_context(|| format!("no backup {}", backup.display()))?;
    overwrite(path, new)?;
    Ok(backup)
}

/// Puts a new text in place of a file's.
pub(super) fn overwrite(path: &Path, new: &str) -> Result<()> {
    // A link stays a link; the file behind it is replaced.
    let real = fs::canonicalize(path)?;
    let fresh = beside(&real, &format!(".ridethrough-new-{}", std::process::id()));
    let written = copy(&real, &fresh, new).and_then(|()| fs::rename(&fresh, &real));
    if written.is_err() {
        // Then there may be nothing to remove, and what matters is told below.
        let _ = fs::remove_file(&fresh);
    }
    written.context("it cannot be written")
}

/// The backups of a file, the newest first.
pub(super) fn backups(path: &Path) -> Vec<PathBuf> {
    let mut backups: Vec<_> = names(path).take_while(|backup| backup.exists()).collect();
    backups.reverse();
    backups
}

fn free_backup(path: &Path) -> PathBuf {
    let free = names(path).find(|backup| !backup.exists());
    free.expect("there is always one more number")
}

/// What backups are called, the oldest first.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let first = beside(path, BACKUP);
    let path = path.to_owned();
    std::iter::once(first).chain((2..).map(move |it: u64| beside(&path, &format!("{BACKUP}-{it}"))))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Makes a new file of this text that may be read by whom the model's may. Never takes the place of
/// another file.
fn copy(model: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // Nobody else may read it before it has the permissions of its model.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::metadata(model)?.permissions())?;
    file.sync_all()
}

const BACKUP: &str = ".ridethrough-backup";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_never_overwritten_and_a_changed_file_is_left_alone() {
        let folder = Folder::new("backups");
        let file = folder.0.join("mcp.json");
        fs::write(&file, "one").unwrap();

        let first = replace(&file, "one", "two").unwrap();
        let second = replace(&file, "two", "three").unwrap();
        let refused = replace(&file, "two", "four");

        assert_eq!(first, folder.0.join("mcp.json.ridethrough-backup"));
        assert_eq!(second, folder.0.join("mcp.json.ridethrough-backup-2"));
        assert_eq!(fs::read_to_string(&first).unwrap(), "one");
        assert_eq!(fs::read_to_string(&second).unwrap(), "two");
        assert_eq!(fs::read_to_string(&file).unwrap(), "three");
        assert!(refused.unwrap_err().to_string().contains("changed by somebody else"));
        assert_eq!(backups(&file), [second, first]);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3, "nothing else is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay_too() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let (real, link) = (folder.0.join("real.json"), folder.0.join("mcp.json"));
        fs::write(&real, "one").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();

        let backup = replace(&link, "one", "two").unwrap();

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
        assert_eq!((mode(&real), mode(&backup)), (0o640, 0o640));
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("ridethrough-disk-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
