//! Config files on the disk: read, replaced in one step, and backed up.
//!
//! Each file is written whole under a temporary name, and renamed to its place: no reader ever sees half of a
//! file or of a backup. A file is replaced where its links lead, with its owner and mode, and only if it
//! still says what was read. A backup is never overwritten: a second one has a number.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::platform;

/// Replaces a file, provided that it still says `old`, and returns the path of the backup.
pub(crate) fn replace(path: &Path, old: &str, new: &str) -> Result<PathBuf> {
    replace_watched(path, old, new, |_| ())
}

/// Replaces a file without a backup, provided that it still says `old`.
pub(crate) fn overwrite(path: &Path, old: &str, new: &str) -> Result<()> {
    exchange(path, old, new, &mut |_| ())
}

/// Makes a file that is not there yet, for its owner only.
pub(crate) fn create(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let draft = draft(path);
    let written = write_new(&draft, text).context("it cannot be written").and_then(|_| {
        // A hard link never replaces a file, as a rename would.
        fs::hard_link(&draft, path).context("it cannot be written")
    });
    // There may be no draft to remove, and the error that matters is returned.
    let _ = fs::remove_file(&draft);
    platform::sync_folder(folder);
    written
}

/// Keeps a text beside a file, before the file is reverted to an older one.
pub(crate) fn keep_undone(path: &Path, text: &str) -> Result<PathBuf> {
    store(path, UNDONE, text, &mut |_| ()).context("no copy of it can be kept")
}

/// Returns the backups of a file, the newest first.
pub(crate) fn backups(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let first = beside(path, BACKUP).file_name().unwrap_or_default().to_owned();
    let number = |name: OsString| -> Option<u64> {
        let behind = name.to_str()?.strip_prefix(first.to_str()?)?.to_owned();
        if behind.is_empty() { Some(1) } else { behind.strip_prefix('-')?.parse().ok() }
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> =
        entries.filter_map(|it| Some((number(it.file_name())?, it.path()))).collect();
    found.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, path)| path).collect()
}

/// A file that is written under its temporary name, and is renamed next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteStep {
    Backup,
    File,
}

fn replace_watched(
    path: &Path,
    old: &str,
    new: &str,
    mut before: impl FnMut(WriteStep),
) -> Result<PathBuf> {
    compare(path, old)?;
    let backup = store(path, BACKUP, old, &mut before).context("no backup can be kept")?;
    if let Err(error) = exchange(path, old, new, &mut before) {
        // The file was not changed, so it needs no backup.
        let _ = fs::remove_file(&backup);
        return Err(error);
    }
    Ok(backup)
}

fn exchange(path: &Path, old: &str, new: &str, before: &mut dyn FnMut(WriteStep)) -> Result<()> {
    // A link stays a link; the file behind it is replaced.
    let real = fs::canonicalize(path)?;
    let draft = draft(&real);
    let written = write(&real, &draft, new).context("it cannot be written").and_then(|()| {
        before(WriteStep::File);
        // Writing takes a while, and the host may have written this file meanwhile.
        compare(&real, old)?;
        fs::rename(&draft, &real).context("it cannot be written")
    });
    if written.is_err() {
        // There may be no draft to remove, and the error that matters is returned.
        let _ = fs::remove_file(&draft);
    }
    if let Some(folder) = real.parent() {
        platform::sync_folder(folder);
    }
    written
}

/// Keeps a text under the first free name with this ending.
fn store(
    path: &Path,
    ending: &str,
    text: &str,
    before: &mut dyn FnMut(WriteStep),
) -> io::Result<PathBuf> {
    let draft = draft(&beside(path, ending));
    let stored = write(path, &draft, text).and_then(|()| {
        before(WriteStep::Backup);
        named(&draft, path, ending)
    });
    let _ = fs::remove_file(&draft);
    stored
}

/// Gives a draft the first free name. A hard link never replaces a file, as a rename would.
fn named(draft: &Path, path: &Path, ending: &str) -> io::Result<PathBuf> {
    for name in names(path, ending) {
        match fs::hard_link(draft, &name) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // The disk has no hard links.
            Err(_) if !name.exists() => return fs::rename(draft, &name).map(|()| name),
            Err(_) => {}
        }
    }
    Err(io::Error::other("there are too many of them"))
}

fn compare(path: &Path, old: &str) -> Result<()> {
    if fs::read(path)? != old.as_bytes() {
        bail!("it was changed by somebody else meanwhile; run the command again");
    }
    Ok(())
}

/// Returns the names with this ending, the oldest first.
fn names(path: &Path, ending: &str) -> impl Iterator<Item = PathBuf> {
    let first = beside(path, ending);
    let more = (2..=MOST).map(move |it: u64| beside(path, &format!("{ending}-{it}")));
    std::iter::once(first).chain(more)
}

fn draft(path: &Path) -> PathBuf {
    beside(path, &format!(".ridethrough-new-{}", std::process::id()))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Writes a new file with this text to the disk, with the owner and the permissions of `model`.
fn write(model: &Path, path: &Path, text: &str) -> io::Result<()> {
    // Other users may not read it before it has the permissions of its model.
    let file = write_new(path, text)?;
    let model = fs::metadata(model)?;
    platform::keep_owner(&file, &model)?;
    file.set_permissions(model.permissions())?;
    file.sync_all()
}

/// Writes a new file with this text to the disk, for its owner only.
fn write_new(path: &Path, text: &str) -> io::Result<fs::File> {
    // A draft under this process number was left by a process that died.
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    platform::for_owner_only(&mut options);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

const BACKUP: &str = ".ridethrough-backup";
const UNDONE: &str = ".ridethrough-undone";
const MOST: u64 = 10_000;

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
        assert_eq!(backups(&file), [second.clone(), first.clone()]);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3, "nothing else is left behind");
        fs::remove_file(first).unwrap();
        assert_eq!(backups(&file), [second], "also if an older one is gone");
    }

    /// The host of a config file may write it at any time.
    #[test]
    fn an_edit_between_the_comparison_and_the_rename_is_noticed() {
        let folder = Folder::new("race");
        let file = folder.0.join("mcp.json");
        fs::write(&file, "one").unwrap();

        let refused = replace_watched(&file, "one", "two", |step| {
            if step == WriteStep::File {
                fs::write(&file, "one, edited").unwrap();
            }
        });

        assert!(refused.unwrap_err().to_string().contains("changed by somebody else"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "one, edited");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn a_backup_has_its_name_only_when_it_is_whole() {
        let folder = Folder::new("whole");
        let file = folder.0.join("mcp.json");
        fs::write(&file, "one").unwrap();
        let mut seen = Vec::new();

        replace_watched(&file, "one", "two", |step| seen.push((step, backups(&file).len())))
            .unwrap();

        assert_eq!(seen, [(WriteStep::Backup, 0), (WriteStep::File, 1)]);
    }

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
