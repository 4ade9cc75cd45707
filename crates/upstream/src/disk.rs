//! Small files that are kept for the next process: readable by their owner only, never half written, and read only if no other
//! user can have written them.
//!
//! They contain neither a URL nor credentials; a digest of both is in the file's name.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::Path;

use aws_lc_rs::digest;

use crate::platform;

/// Why a file was not read, or why its contents are not used.
#[derive(Debug)]
pub struct Unfit(String);

impl Unfit {
    pub(crate) fn because(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// Reads a file of at most `most` bytes; `None` if there is none.
///
/// It must be a regular file of this user that no other user may write. Anything else is not opened: a pipe
/// or a device may never end, and another user's file is not what was kept.
///
/// # Errors
///
/// Returns why it was not read.
pub fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Unfit> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Unfit(format!("it cannot be read: {error}"))),
    };
    fitting(&found, most)?;
    let unread = |error: io::Error| Unfit(format!("it cannot be read: {error}"));
    let file = File::open(path).map_err(unread)?;
    // Checked again, because the path may have led to another file by the time it was opened.
    fitting(&file.metadata().map_err(unread)?, most)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > most { Err(Unfit::because(TOO_LARGE)) } else { Ok(Some(bytes)) }
}

fn fitting(file: &Metadata, most: u64) -> Result<(), Unfit> {
    if !file.is_file() {
        return Err(Unfit::because("it is no regular file"));
    }
    if !platform::is_ours(file) {
        return Err(Unfit::because("it belongs to somebody else, or others may write it"));
    }
    if file.len() > most { Err(Unfit::because(TOO_LARGE)) } else { Ok(()) }
}

/// Replaces a file as a whole, so that no reader sees half of it.
///
/// # Errors
///
/// Returns why it could not be written; the old file is then unchanged.
pub fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    platform::make_private(folder)?;
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = private_file(&draft)
        .and_then(|mut file| file.write_all(text))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The error of the write is the one that is reported.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Returns the SHA-256 of these bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Returns the name of the file for a URL and credentials. Each part is hashed with its length, so that no
/// two sets of parts give one text.
pub(crate) fn name(url: &str, credentials: &[(&str, &str)]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    let parts = credentials.iter().flat_map(|(name, value)| [*name, *value]);
    for part in [url].into_iter().chain(parts) {
        context.update(&part.len().to_be_bytes());
        context.update(part.as_bytes());
    }
    hexadecimal(&context.finish().as_ref()[..20])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn private_file(path: &Path) -> io::Result<File> {
    // A draft of a dead process with this process id may have other rights.
    let _ = fs::remove_file(path);
    platform::create_private(path)
}

const TOO_LARGE: &str = "it is larger than any that was kept";

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_not_there_is_nothing() {
        let folder = Scratch::new();
        let path = folder.0.join("kept");

        assert!(read(&path, 3).unwrap().is_none());
        write(&path, b"abc").unwrap();

        assert_eq!(read(&path, 3).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(read(&path, 2).unwrap_err().to_string(), TOO_LARGE);
        assert_eq!(digest(b"abc")[..16], *"ba7816bf8f01cfea");
    }

    /// Before this was fixed, a pipe in the file's place stopped the program for good, and a link to a device
    /// filled the memory.
    #[test]
    fn what_is_no_regular_file_of_ours_is_not_opened() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Scratch::new();
        let [pipe, device, link, open] =
            ["pipe", "device", "link", "open"].map(|name| folder.0.join(name));
        write(&open, b"abc").unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o622)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink("/dev/zero", &device).unwrap();
        symlink(&open, &link).unwrap();

        let why = |path: &Path| read(path, 1000).unwrap_err().to_string();

        for path in [pipe, device, link, folder.0.clone()] {
            assert_eq!(why(&path), "it is no regular file", "{}", path.display());
        }
        assert_eq!(why(&open), "it belongs to somebody else, or others may write it");
    }

    /// A folder of one test; the first write creates it.
    pub(crate) struct Scratch(pub(crate) PathBuf);

    impl Scratch {
        pub(crate) fn new() -> Self {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("ridethrough-disk-{}-{number}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            // A folder that stays behind does no harm.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
