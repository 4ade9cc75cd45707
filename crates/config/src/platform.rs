//! What differs by platform: the folders of programs, and the owner and mode of files. No other file of this crate
//! names a platform. Only Linux is tested. This code was never compiled for another platform.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// A platform, as far as programs keep their files in other folders there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    MacOs,
    /// Linux, and every other Unix.
    Unix,
    Windows,
}

impl Platform {
    /// Returns the platform that this program was built for.
    pub(crate) const fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Unix
        }
    }
}

/// Lets only the owner read and write a file that is created with these options.
#[cfg(unix)]
pub fn for_owner_only(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Does nothing: a file has the permissions of its folder.
#[cfg(not(unix))]
pub const fn for_owner_only(_: &mut OpenOptions) {}

/// Gives a file of ours the owner of its model.
#[cfg(unix)]
pub(crate) fn keep_owner(file: &File, model: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (model.uid(), model.gid()) {
        return Ok(());
    }
    fchown(file, Some(model.uid()), Some(model.gid()))
        .map_err(|error| io::Error::new(error.kind(), format!("its owner cannot be kept: {error}")))
}

#[cfg(not(unix))]
pub(crate) const fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Lets nobody but its owner read or write a file.
#[cfg(unix)]
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let mode = path.metadata()?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700))
}

/// Does nothing: a file has the permissions of its folder.
#[cfg(not(unix))]
pub(crate) const fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes a rename in this folder survive a power cut, where that can be done.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) {
    // The file itself is on the disk; some file systems cannot sync a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(not(unix))]
pub(crate) const fn sync_folder(_: &Path) {}
