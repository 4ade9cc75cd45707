//! Small files about servers, each for one URL and one set of credentials: readable by their owner only,
//! never half written, and without a word of the URL or the credentials but for a digest in the name.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use aws_lc_rs::digest;

/// Puts a new file in the place of the old one, so that nobody ever reads half of it.
pub(crate) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_private(folder)?;
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = private_file(&draft)
        .and_then(|mut file| file.write_all(text))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // What is told is why it could not be written.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Each part with its length, so that no two sets of parts are the same text.
pub(crate) fn name(url: &str, credentials: &[(&str, &str)]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    let parts = credentials.iter().flat_map(|(name, value)| [*name, *value]);
    for part in [url].into_iter().chain(parts) {
        context.update(&part.len().to_be_bytes());
        context.update(part.as_bytes());
    }
    context.finish().as_ref().iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    // A draft of a process of the same number that died is nobody's, and may have other rights.
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<fs::File> {
    fs::File::create(path)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A folder of a test's own, made by whoever writes into it first.
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
            // A folder that stays behind harms nobody.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
