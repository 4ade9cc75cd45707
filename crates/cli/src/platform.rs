//! What differs by platform. No other file of this crate names one, but for `lib.rs`, where the modules are
//! declared that only Unix has.
//!
//! On Unix (`unix.rs`) there are signals, process groups, sockets and files with an owner, and terminals whose
//! input can be thrown away. Elsewhere (`elsewhere.rs`) what stands on them is refused, and the rest is done
//! without: both have the same names. Linux can do more for supervisors, and hosts have their files in other
//! folders on each platform.
//!
//! Linux is what is tested. Nothing here was ever compiled for another platform.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use elsewhere as here;
#[cfg(unix)]
use unix as here;

#[cfg(not(unix))]
pub(crate) use elsewhere::{expose, status, supervise};
pub(crate) use here::{
    StatusServer, asked, discard_typed, for_owner_only, is_executable, keep_owner, sync_folder,
};

/// A platform, as far as programs keep their files in other folders there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    MacOs,
    /// Linux, and every other Unix.
    Unix,
    Windows,
}

impl Platform {
    /// The one that this was built for.
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

/// Makes orphans among our descendants ours, where the system can do that. Without it only those who stay in
/// the group are found.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) const fn adopt_orphans() {}

/// Has this process killed when its parent dies, where the system can do that. Without it a server sees its
/// stdin end.
#[cfg(target_os = "linux")]
pub(crate) fn die_with_parent() {
    let signal = rustix::process::Signal::KILL;
    let _ = rustix::process::set_parent_process_death_signal(Some(signal));
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) const fn die_with_parent() {}
