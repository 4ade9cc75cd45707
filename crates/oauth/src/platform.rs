//! What differs by platform: the owner of a file, the folder for data, and the program that opens a browser.
//! No other file of this crate names a platform.
//!
//! On Unix a file has an owner and a mode. Elsewhere a file has the permissions of its folder, which is below
//! the user's own.

pub(crate) use folder::{data_folder, home_folder};
pub(crate) use opener::opener;
pub(crate) use process::is_running;
pub(crate) use rights::{
    check_private, create_private, make_private, open, open_lock, sync_folder,
};

#[cfg(unix)]
mod rights {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use rustix::fs::OFlags;

    /// Checks that the file is this user's, and that no other user may read or write it.
    pub(crate) fn check_private(found: &Metadata) -> Result<(), &'static str> {
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err("it belongs to another user");
        }
        if found.mode() & 0o077 != 0 {
            return Err("others may read or write it; take their rights away");
        }
        Ok(())
    }

    /// Makes a folder, and those above it, that only its owner can enter.
    pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
        if fs::symlink_metadata(folder).is_ok() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // A umask may have removed permissions of the owner, too.
        fs::set_permissions(folder, Permissions::from_mode(0o700))
    }

    /// Makes a new file that only its owner can read.
    pub(crate) fn create_private(path: &Path) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(file)
    }

    /// Opens a file to be read; an error if it is a symbolic link.
    pub(crate) fn open(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(careful()).open(path)
    }

    /// Opens a file to be locked, and makes it if there is none.
    pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(careful()).open(path)
    }

    /// Syncs a folder: a rename in it is on the disk only when the folder is.
    pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    /// Returns the flags by which a symbolic link is not followed, and a pipe is not waited for.
    const fn careful() -> i32 {
        OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed()
    }
}

#[cfg(not(unix))]
mod rights {
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(crate) const fn check_private(_: &Metadata) -> Result<(), &'static str> {
        Ok(())
    }

    pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    pub(crate) fn create_private(path: &Path) -> io::Result<File> {
        File::create_new(path)
    }

    pub(crate) fn open(path: &Path) -> io::Result<File> {
        if fs::symlink_metadata(path)?.is_symlink() {
            return Err(io::Error::other("it is a symbolic link"));
        }
        File::open(path)
    }

    pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
    }

    pub(crate) const fn sync_folder(_: &Path) -> io::Result<()> {
        Ok(())
    }
}

mod folder {
    use std::path::PathBuf;

    /// Returns where programs keep the data of this user.
    pub(crate) fn data_folder() -> Option<PathBuf> {
        let variable =
            |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
        if cfg!(windows) {
            variable("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            variable("HOME").map(|home| home.join("Library/Application Support"))
        } else {
            let usual = || variable("HOME").map(|home| home.join(".local/share"));
            variable("XDG_DATA_HOME").or_else(usual)
        }
    }

    /// Returns the user's home folder.
    pub(crate) fn home_folder() -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute())
    }
}

#[cfg(unix)]
mod process {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    /// Whether a process runs, also one of another user.
    pub(crate) fn is_running(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
    }
}

#[cfg(not(unix))]
mod process {
    /// Always true, because the platform is not asked: the holder of a lease counts as running until its time
    /// is up.
    pub(crate) const fn is_running(_: u32) -> bool {
        true
    }
}

mod opener {
    use std::process::Command;

    /// Returns the program that opens a URL, without a shell: the URL is its last argument.
    pub(crate) fn opener() -> Command {
        if cfg!(windows) {
            let mut command = Command::new("rundll32.exe");
            command.arg("url.dll,FileProtocolHandler");
            command
        } else if cfg!(target_os = "macos") {
            Command::new("/usr/bin/open")
        } else {
            Command::new("xdg-open")
        }
    }
}
