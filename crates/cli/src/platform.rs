//! What differs by platform. No other file of this crate names a platform, except for `lib.rs`, which
//! declares the modules that only Unix has.
//!
//! On Unix (`unix.rs`) there are signals, process groups, sockets, modes of files, and terminals whose
//! input can be discarded. Elsewhere (`elsewhere.rs`) commands that depend on them are refused, and the rest
//! works without; both files offer identical names. Linux can do more for supervisors.
//!
//! Only Linux is tested. This code was never compiled for another platform.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use elsewhere as here;
#[cfg(unix)]
use unix as here;

#[cfg(not(unix))]
pub(crate) use elsewhere::{expose, gateway, status, supervise};
pub(crate) use here::{HAS_GATEWAY, discard_typed, is_executable, is_ours_alone};

/// Makes orphans among our descendants our children, where the system can do that. Without it only those that
/// stay in the process group are found.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) const fn adopt_orphans() {}

/// Has this process killed when its parent dies, where the system can do that. Without it a server only sees
/// its stdin end.
#[cfg(target_os = "linux")]
pub(crate) fn die_with_parent() {
    let signal = rustix::process::Signal::KILL;
    let _ = rustix::process::set_parent_process_death_signal(Some(signal));
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) const fn die_with_parent() {}
