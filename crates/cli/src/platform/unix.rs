//! What Unix has: signals, owners and modes of files, terminals, and sockets through which bridges are asked.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::termios::{QueueSelector, tcflush};

pub(crate) use crate::status::StatusServer;

/// Whether `ridethrough gateway` exists here.
pub(crate) const HAS_GATEWAY: bool = true;

/// Lets only the owner read and write a file that is created with these options.
pub(crate) fn for_owner_only(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Gives a file of ours the owner of its model.
pub(crate) fn keep_owner(file: &File, model: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (model.uid(), model.gid()) {
        return Ok(());
    }
    fchown(file, Some(model.uid()), Some(model.gid()))
        .map_err(|error| io::Error::new(error.kind(), format!("its owner cannot be kept: {error}")))
}

/// Lets nobody but its owner read or write a file.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let mode = path.metadata()?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700))
}

/// Makes a rename in this folder survive a power cut, where that can be done.
pub(crate) fn sync_folder(folder: &Path) {
    // The file itself is on the disk; some file systems cannot sync a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Discards what was typed so far.
pub(crate) fn discard_typed() {
    // On anything but a terminal there is nothing to discard.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Whether a file belongs to this user or to the system, and no other user may write it.
pub(crate) fn is_ours_alone(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    path.metadata().is_ok_and(|it| [own, 0].contains(&it.uid()) && it.mode() & 0o022 == 0)
}

/// Whether any user may start this file.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.permissions().mode() & 0o111 != 0)
}
