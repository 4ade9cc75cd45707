//! The tools that a server had when it was last asked, kept by the server's name, so that a shell can
//! complete them without a request.
//!
//! Only names are kept, and only those that mean nothing to a shell: completion scripts expand what they get.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;

use ridethrough_config::folders;
use ridethrough_config::platform;

/// Keeps the names of a server's tools. Names that cannot be kept are merely not completed.
pub(crate) fn keep<'a>(server: &str, tools: impl Iterator<Item = &'a str>) {
    let Some(path) = place(server) else { return };
    let names: Vec<_> = tools.filter(|it| is_plain(it)).take(MOST).collect();
    let _ = write(&path, &names.join("\n"));
}

/// Returns the names that were kept for a server.
pub(crate) fn kept(server: &str) -> Vec<String> {
    place(server).and_then(|path| read(&path)).unwrap_or_default()
}

/// Whether a name can be used in a script without quotes.
pub(crate) fn is_plain(name: &str) -> bool {
    let is_safe = |it: u8| it.is_ascii_alphanumeric() || b"._-:/".contains(&it);
    !name.is_empty() && name.len() <= LONGEST && !name.starts_with('-') && name.bytes().all(is_safe)
}

/// Returns the file of a server that has a name. A URL has none: it may hold a key, and the file's name would
/// show it.
fn place(server: &str) -> Option<PathBuf> {
    let is_name = is_plain(server) && !server.contains('/');
    let folder = folders::catalogues()?.parent()?.join("tools");
    is_name.then(|| folder.join(server.replace(':', "+")))
}

fn write(path: &PathBuf, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let fresh = folder.join(format!(".{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    platform::for_owner_only(&mut options);
    options.open(&fresh)?.write_all(text.as_bytes())?;
    fs::rename(&fresh, path)
}

fn read(path: &PathBuf) -> Option<Vec<String>> {
    // A pipe in its place would block for ever.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text.lines().filter(|it| is_plain(it)).map(str::to_owned).collect())
}

const LONGEST: usize = 128;
const MOST: usize = 500;
const LARGEST: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_shell_would_obey_is_never_completed() {
        for name in ["$(rm)", "`id`", "a b", "a;b", "", "-x", "a\nb", "\"", "é"] {
            assert!(!is_plain(name), "{name}");
        }
        assert!(is_plain("get-sum") && is_plain("cursor:github") && is_plain("ns/tool_1.x"));
    }

    #[test]
    fn a_url_leaves_no_file() {
        for server in ["https://example.com/mcp?key=s3cret", "localhost:80/mcp", "a/../b"] {
            assert_eq!(place(server), None, "{server}");
        }
    }
}
