//! Files that a command writes at its end: checked for being writable at its beginning.

use std::fs::OpenOptions;
use std::path::Path;

use ridethrough_terminal::misuse::Misuse;

/// Checks that a file can be written, and leaves its content. `tried` says what was not done because of it.
pub(crate) fn see(path: &Path, tried: &str) -> Result<(), Misuse> {
    let is_new = !path.exists();
    let opened = OpenOptions::new().create(true).append(true).open(path);
    if is_new && opened.is_ok() {
        // A command that is stopped leaves no empty report behind.
        let _ = std::fs::remove_file(path);
    }
    opened.map(drop).map_err(|error| Misuse {
        what: format!("`{}` cannot be written: {error}", path.display()),
        tried: tried.to_owned(),
        hint: "name a file in a folder that exists and is yours".to_owned(),
    })
}
