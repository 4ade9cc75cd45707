//! The folders of this user: for settings, for decisions, and for what was last seen.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::platform::Platform;

/// Returns the folder for decisions of the user; `None` if the user has no such folder.
pub fn state() -> Option<PathBuf> {
    Some(below_home("XDG_STATE_HOME", ".local/state")?.join("ridethrough"))
}

/// Returns the folder for what was last seen of servers, their catalogues and their eras, below the user's
/// cache; `None` if the user has no such folder.
pub fn catalogues() -> Option<PathBuf> {
    Some(below_home("XDG_CACHE_HOME", ".cache")?.join("ridethrough").join("catalogues"))
}

/// Returns where the user's own `ridethrough.toml` may be.
pub fn users_file() -> Option<PathBuf> {
    users_file_on(Platform::here(), |name| variable(name).map(PathBuf::from))
}

fn users_file_on(platform: Platform, folder: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // On macOS, too, our own file is where programs of a terminal have theirs.
    let platform = if platform == Platform::MacOs { Platform::Unix } else { platform };
    let user = settings(platform, &folder, folder("HOME").as_deref());
    user.map(|folder| folder.join("ridethrough").join(FILE))
}

/// Returns the folder in which programs keep their settings: the one that a variable names, or one below the home.
pub(crate) fn settings(
    platform: Platform,
    folder: impl Fn(&str) -> Option<PathBuf>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    match platform {
        Platform::MacOs => Some(home?.join("Library/Application Support")),
        Platform::Unix => folder("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config"))),
        Platform::Windows => folder("APPDATA"),
    }
}

fn below_home(name: &str, path: &str) -> Option<PathBuf> {
    let named = variable(name).or_else(|| variable("LOCALAPPDATA")).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(variable("HOME")?).join(path)))
}

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The name of our own file, in a project and in the user's folder.
pub const FILE: &str = "ridethrough.toml";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_file_is_below_the_settings_of_the_platform() {
        let all = [("APPDATA", "/roaming"), ("HOME", "/me"), ("XDG_CONFIG_HOME", "/xdg")];
        let users = |platform, known: &[(&str, &str)]| {
            let value =
                |name: &str| known.iter().find(|(it, _)| *it == name).map(|(_, at)| at.into());
            users_file_on(platform, value)
        };

        for platform in [Platform::MacOs, Platform::Unix] {
            let found = [users(platform, &all), users(platform, &all[..2])];
            let below = |folder: &str| Some(Path::new(folder).join("ridethrough/ridethrough.toml"));
            assert_eq!(found, [below("/xdg"), below("/me/.config")], "{platform:?}");
        }
        let found = [users(Platform::Windows, &all), users(Platform::Windows, &all[1..])];
        assert_eq!(found, [Some("/roaming/ridethrough/ridethrough.toml".into()), None]);
    }
}
