//! The folders in which something is kept from one command to the next.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder for what the user has decided; `None` if the user has no place of its own.
pub(crate) fn state() -> Option<PathBuf> {
    let state = variable("XDG_STATE_HOME")
        .or_else(|| variable("LOCALAPPDATA"))
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/state")))?;
    Some(state.join("ridethrough"))
}

/// The folder for what servers were when they were last there, their catalogues and their eras, below the
/// user's cache; `None` if the user has no place of its own.
pub(crate) fn folder() -> Option<PathBuf> {
    let cache = variable("XDG_CACHE_HOME")
        .or_else(|| variable("LOCALAPPDATA"))
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
    Some(cache.join("ridethrough").join("catalogues"))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
