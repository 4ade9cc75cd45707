//! Puts our bridge in place of others in the files of hosts, and back.
//!
//! It changes as little as possible: the program and the words that start the other bridge; every other byte of a
//! file stays.

mod bridges;
pub(crate) mod native;
pub(crate) mod plan;
pub(crate) mod undo;
pub(crate) mod verdict;

use std::path::PathBuf;

use crate::disk;
use crate::hosts::{Entry, File};
pub use plan::{header_names, shown_url};
pub use verdict::{EntryVerdict, LoginAfter, Replacement};

/// A file, and what would become of its servers.
pub struct ReplacePlan {
    /// The file.
    pub file: File,
    /// What becomes of each of its servers, in their order.
    pub verdicts: Vec<EntryVerdict>,
    /// The backup, or why nothing was written; `None` if nothing was to be written.
    pub written: Option<Result<PathBuf, String>>,
}

impl ReplacePlan {
    /// Plans what becomes of a file whose host would start `program` for our bridge. With `takes_urls` servers that
    /// their host reaches by itself are replaced, too.
    pub fn of(
        file: File,
        program: &str,
        takes_urls: bool,
        is_wanted: impl Fn(&Entry) -> bool,
    ) -> Self {
        let judge = |entry: &Entry| match plan::judge(entry, program) {
            EntryVerdict::Replace(_) if !is_wanted(entry) => {
                EntryVerdict::Left("another was asked for".to_owned())
            }
            EntryVerdict::Could => {
                match native::rewritten(entry, &file.document, &file.place.path, program) {
                    EntryVerdict::Replace(it) if takes_urls && is_wanted(entry) => {
                        EntryVerdict::Replace(it)
                    }
                    EntryVerdict::Replace(_) => EntryVerdict::Could,
                    verdict => verdict,
                }
            }
            verdict => verdict,
        };
        let verdicts: Vec<_> = file.entries.iter().map(judge).collect();
        Self { file, verdicts, written: None }
    }

    /// Writes the file, if any of its servers is replaced.
    pub fn write(&mut self) {
        let edits = self.verdicts.iter().filter_map(|verdict| match verdict {
            EntryVerdict::Replace(replacement) => Some(replacement.edits.clone()),
            _ => None,
        });
        let edits: Vec<_> = edits.flatten().collect();
        if !edits.is_empty() {
            let document = &self.file.document;
            let new = document.with(&edits);
            let written = disk::replace(&self.file.place.path, &document.text, &new);
            self.written = Some(written.map_err(|error| format!("{error:#}")));
        }
    }
}
