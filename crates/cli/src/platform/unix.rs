//! What Unix has: modes of files, and terminals.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::termios::{QueueSelector, tcflush};

/// Whether `ridethrough gateway` exists here.
pub(crate) const HAS_GATEWAY: bool = true;

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
