//! Files for pictures, sounds and other bytes of a server.
//!
//! We choose the names: a server cannot decide where something is written, and nothing is ever overwritten.

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Talk;
use crate::misuse::Misuse;

/// A folder to save into, or stdout.
pub(super) struct Folder {
    path: PathBuf,
    /// The beginning of all names.
    stem: String,
    /// The bytes for stdout, if that is where they go.
    stream: Option<RefCell<Option<Vec<u8>>>>,
}

/// Where bytes went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Saved {
    File(PathBuf),
    Stdout,
}

impl Folder {
    /// Makes the folder if there is none. Only letters and digits of the word are used.
    pub(super) fn open(path: &Path, word: &str) -> Result<Self> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                return Err(Misuse {
                    what: "`--out -` writes bytes, and stdout is a terminal".to_owned(),
                    tried: "nothing was asked for".to_owned(),
                    hint: "send stdout to a file or a pipe, or name a folder".to_owned(),
                }
                .into());
            }
            return Ok(Self::stdout());
        }
        fs::create_dir_all(path)
            .with_context(|| format!("making the folder `{}`", path.display()))?;
        let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
        let stem: String = word.chars().map(|it| if is_plain(it) { it } else { '-' }).collect();
        let stem = stem.trim_matches('-').chars().take(LONGEST).collect::<String>();
        let stem = if stem.is_empty() { "content".to_owned() } else { stem };
        Ok(Self { path: path.to_owned(), stem, stream: None })
    }

    /// Keeps bytes for stdout, which is not a terminal.
    pub(super) fn stdout() -> Self {
        Self { path: "-".into(), stem: String::new(), stream: Some(RefCell::default()) }
    }

    /// Saves bytes under the next free name, and returns where.
    pub(super) fn save(&self, bytes: &[u8], mime_type: &str) -> Result<Saved> {
        if let Some(stream) = &self.stream {
            stream.borrow_mut().get_or_insert_default().extend_from_slice(bytes);
            return Ok(Saved::Stdout);
        }
        for number in 1..=MOST {
            let name = format!("{}-{number}.{}", self.stem, extension(mime_type));
            let path = self.path.join(name);
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            match file {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => {
                    file.and_then(|mut file| file.write_all(bytes))
                        .with_context(|| format!("writing `{}`", path.display()))?;
                    return Ok(Saved::File(path));
                }
            }
        }
        anyhow::bail!("`{}` holds {MOST} files of this name already", self.path.display())
    }
}

impl Talk {
    /// Returns stdout as the place for bytes if no folder was named: if it is not a terminal and they are the
    /// only piece, as in `curl` and `gh`. Bytes beside other pieces are reported, because the output would
    /// hold their names only.
    pub(super) fn stdout_for(&self, named: Option<&Folder>, is_bytes: &[bool]) -> Option<Folder> {
        if named.is_some() || self.is_json || io::stdout().is_terminal() {
            return None;
        }
        if is_bytes == [true] {
            return Some(Folder::stdout());
        }
        if is_bytes.contains(&true) {
            self.terminal.say(NAMED_ONLY);
        }
        None
    }
}

/// Returns the bytes that go to stdout in place of words, if there are some.
pub(super) fn streamed(folder: Option<&Folder>) -> Option<Vec<u8>> {
    folder?.stream.as_ref()?.take()
}

/// Returns the extension of a file with this content type.
fn extension(mime_type: &str) -> &'static str {
    let kind = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = EXTENSIONS.iter().find(|(known, _)| *known == kind);
    known.map_or("bin", |(_, extension)| extension)
}

const EXTENSIONS: [(&str, &str); 18] = [
    ("application/gzip", "gz"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("video/mp4", "mp4"),
];
const NAMED_ONLY: &str = "warning: stdout has the names of bytes that the server sent, and not the bytes: `--out -` writes \
                          them there and nothing else, `--out DIR` saves them";
const LONGEST: usize = 60;
const MOST: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_known_has_a_name_that_nothing_opens_by_itself() {
        assert_eq!(extension("Image/PNG; q=1"), "png");
        assert_eq!(extension("application/x-sh"), "bin");
        assert_eq!(extension("../../etc/passwd"), "bin");
    }

    #[test]
    fn nothing_is_written_outside_the_folder_and_nothing_is_overwritten() {
        let path = std::env::temp_dir().join(format!("ridethrough-files-{}", std::process::id()));
        let folder = Folder::open(&path, "../../evil\u{0}name").unwrap();

        let saved = [folder.save(b"one", "image/png"), folder.save(b"two", "image/png")];

        let saved = saved.map(|it| it.unwrap());
        let at = |name: &str| Saved::File(path.join(name));
        assert_eq!(saved, [at("evil-name-1.png"), at("evil-name-2.png")]);
        assert_eq!(fs::read(path.join("evil-name-1.png")).unwrap(), b"one");
        fs::remove_dir_all(path).unwrap();
    }
}
