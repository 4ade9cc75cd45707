//! Where it is kept what servers were when they were last there: their catalogues and their eras.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder for it, below the user's cache; `None` if the user has no place of its own.
pub(crate) fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME")
        .or_else(|| variable("LOCALAPPDATA"))
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
    Some(cache.join("ridethrough").join("catalogues"))
}
