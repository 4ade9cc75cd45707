//! What differs by platform: how all processes that a client started are ended, how a program is written, and
//! where package managers put programs. No other file of this crate names a platform.
//!
//! On Unix there are process groups and signals. Elsewhere a process is killed when its handle is dropped,
//! and the processes that it started are not known.

pub(crate) use processes::{kill, kill_group, lead_group};
pub(crate) use programs::write_program;

/// Whether the lab can start package managers, and knows the names of the programs that they install.
pub(crate) const fn knows_package_managers() -> bool {
    cfg!(unix)
}

#[cfg(unix)]
mod programs {
    use std::ffi::OsStr;
    use std::io::{self, Write as _};
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::Path;

    /// Writes a new program that starts these words, with its own arguments added.
    pub(crate) fn write_program(path: &Path, words: &[&OsStr]) -> io::Result<()> {
        let mut text = b"#!/bin/sh\nexec".to_vec();
        for word in words {
            let quoted = word.as_bytes().split(|byte| *byte == b'\'').collect::<Vec<_>>();
            text.extend([b" '", &*quoted.join(&b"'\\''"[..]), b"'"].concat());
        }
        text.extend(b" \"$@\"\n");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o700).open(path)?.write_all(&text)
    }
}

#[cfg(not(unix))]
mod programs {
    use std::ffi::OsStr;
    use std::io;
    use std::path::Path;

    pub(crate) fn write_program(_: &Path, _: &[&OsStr]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "programs are written on Unix only"))
    }
}

#[cfg(unix)]
mod processes {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::process::Command;

    /// Makes the process the leader of a group of its own.
    pub(crate) fn lead_group(command: &mut Command) {
        command.process_group(0);
    }

    /// Kills the group that this process leads, if it still exists.
    pub(crate) fn kill_group(leader: u32) {
        if let Some(leader) = pid(leader) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Kills one process, if it still exists.
    pub(crate) fn kill(process: u32) {
        if let Some(process) = pid(process) {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    fn pid(id: u32) -> Option<Pid> {
        i32::try_from(id).ok().and_then(Pid::from_raw)
    }
}

#[cfg(not(unix))]
mod processes {
    use tokio::process::Command;

    pub(crate) const fn lead_group(_: &mut Command) {}

    pub(crate) const fn kill_group(_: u32) {}

    pub(crate) const fn kill(_: u32) {}
}
