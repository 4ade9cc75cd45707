//! The folders in which something is kept from one command to the next.

use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the folder for decisions of the user; `None` if the user has no such folder.
pub(crate) fn state() -> Option<PathBuf> {
    let state = variable("XDG_STATE_HOME")
        .or_else(|| variable("LOCALAPPDATA"))
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/state")))?;
    Some(state.join("ridethrough"))
}

/// Returns the folder for what was last seen of servers, their catalogues and their eras, below the user's
/// cache; `None` if the user has no such folder.
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
