//! What differs by platform: the owner of a file, and who may read it. No other file of this crate names a
//! platform.
//!
//! On Unix a file has an owner and a mode. Elsewhere nothing is checked and nothing is set: a file has the
//! permissions of its folder, which is one of the user's own.

pub(crate) use rights::{create_private, is_ours, make_private};

#[cfg(unix)]
mod rights {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    /// Whether the file belongs to this user, and no other user may write it.
    pub(crate) fn is_ours(file: &Metadata) -> bool {
        file.uid() == rustix::process::geteuid().as_raw() && file.mode() & 0o022 == 0
    }

    /// Creates a folder, and those above it, that only its owner can enter.
    pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// Creates a new file that only its owner can read.
    pub(crate) fn create_private(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }
}

#[cfg(not(unix))]
mod rights {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::path::Path;

    pub(crate) const fn is_ours(_: &Metadata) -> bool {
        true
    }

    pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    pub(crate) fn create_private(path: &Path) -> io::Result<File> {
        File::create_new(path)
    }
}
