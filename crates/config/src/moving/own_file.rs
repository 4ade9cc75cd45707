//! Our own config file of the user, to which servers are added at the end.
//!
//! What is there keeps every byte. The file holds secrets of servers, so only its owner may read it once it
//! has any.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ridethrough_terminal::misuse::Misuse;
use ridethrough_terminal::safe;

use crate::disk;
use crate::document::ConfigDocument;
use crate::hosts::Host;
use crate::hosts::entry::entries;
use crate::hosts::reach::Reached;
use crate::hosts::variables::Dialect;
use crate::moving::table::{Filters, ServerTable, reached};
use crate::{folders, platform};

/// The user's own file, and what is to be added to it.
pub struct OwnFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its text; `None` if there is no such file.
    text: Option<String>,
    known: Vec<KnownServer>,
    added: Vec<String>,
}

/// A server that the file has, or will have.
struct KnownServer {
    name: String,
    reached: Option<Reached>,
    filters: Filters,
}

/// What becomes of a server in the file.
pub(crate) struct Placed {
    /// The name of the server there.
    pub(crate) name: String,
    /// Whether the file did not have it.
    pub(crate) is_new: bool,
}

impl OwnFile {
    /// Reads the user's own file, which need not be there.
    pub fn read() -> Result<Self, Misuse> {
        let path = folders::users_file().ok_or_else(|| Misuse {
            what: "this user has no folder for settings".to_owned(),
            tried: "nothing was written".to_owned(),
            hint: "set `HOME`".to_owned(),
        })?;
        Self::read_at(&path)
    }

    fn read_at(path: &Path) -> Result<Self, Misuse> {
        let wrong = |why: String| Misuse {
            what: format!("`{}` cannot be added to: {why}", safe::path(path)),
            tried: "it was read; nothing was written".to_owned(),
            hint: "mend the file first; `ridethrough gateway check` says what is wrong".to_owned(),
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(wrong(error.to_string())),
        };
        let document = ConfigDocument::read(path, text.clone().unwrap_or_default().into_bytes());
        let document = document.map_err(|broken| wrong(broken.to_string()))?;
        let known = entries(&document).into_iter().map(|entry| KnownServer {
            reached: reached(&entry, Dialect::Shell).ok(),
            filters: document.root.object_at(&entry.span).map(Filters::of).unwrap_or_default(),
            name: entry.name,
        });
        let known = known.collect();
        Ok(Self { path: path.to_owned(), text, known, added: Vec::new() })
    }

    /// Adds a server, unless the file has it. A name that means another server there gets the host's name
    /// behind it.
    pub(crate) fn add(&mut self, name: &str, host: Host, table: ServerTable) -> Placed {
        for name in names(name, host) {
            match self.known.iter().find(|it| it.name == name) {
                Some(known) if known.is(&table) => return Placed { name, is_new: false },
                Some(_) => {}
                None => {
                    self.added.push(table.text(&name));
                    let ServerTable { reached, filters, .. } = table;
                    let known = KnownServer { name: name.clone(), reached: Some(reached), filters };
                    self.known.push(known);
                    return Placed { name, is_new: true };
                }
            }
        }
        unreachable!("there is always another number")
    }

    /// Writes what was added, and returns the backup if there was a file before.
    pub fn write(&self) -> Result<Option<PathBuf>> {
        if self.added.is_empty() {
            return Ok(None);
        }
        let new = self.new_text();
        let is_read = ConfigDocument::read(&self.path, new.clone().into_bytes())
            .is_ok_and(|it| entries(&it).len() == self.known.len());
        anyhow::ensure!(
            is_read,
            "{}: servers are written there in a way that is not added to; write them as `[servers.NAME]`",
            safe::path(&self.path)
        );
        match &self.text {
            Some(old) => {
                platform::make_private(&self.path).with_context(|| safe::path(&self.path))?;
                disk::replace(&self.path, old, &new)
                    .map(Some)
                    .with_context(|| safe::path(&self.path))
            }
            None => disk::create(&self.path, &new)
                .map(|()| None)
                .with_context(|| safe::path(&self.path)),
        }
    }

    fn new_text(&self) -> String {
        let mut text = self.text.clone().unwrap_or_default();
        for table in &self.added {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(table);
        }
        text
    }

    /// Takes these tables out again, each of which has one of several texts. Returns whether the file was
    /// changed. A table that was changed since stays.
    pub(crate) fn remove(&self, tables: &[Vec<String>]) -> Result<bool> {
        let Some(old) = &self.text else { return Ok(false) };
        let mut text = old.clone();
        for table in tables.iter().filter_map(|all| all.iter().find(|it| old.contains(*it))) {
            let spaced = format!("\n{table}");
            let found = if text.contains(&spaced) { &spaced } else { table };
            text = text.replacen(found.as_str(), "", 1);
        }
        if text == *old {
            return Ok(false);
        }
        let backups = disk::backups(&self.path);
        // Only the end of the last line was added to what was there.
        let before = backups.iter().filter_map(|it| fs::read_to_string(it).ok());
        let text = before.into_iter().find(|it| *it == text.trim_end_matches('\n')).unwrap_or(text);
        if text.trim().is_empty() && backups.is_empty() {
            // It was made by the import.
            fs::remove_file(&self.path).with_context(|| safe::path(&self.path))?;
            return Ok(true);
        }
        disk::overwrite(&self.path, old, &text).with_context(|| safe::path(&self.path))?;
        for backup in backups {
            if fs::read(&backup).is_ok_and(|it| it == text.as_bytes()) {
                fs::remove_file(&backup).with_context(|| safe::path(&backup))?;
            }
        }
        Ok(true)
    }
}

impl KnownServer {
    fn is(&self, table: &ServerTable) -> bool {
        let is_same = self.reached.as_ref().is_some_and(|it| it.is_same(&table.reached));
        is_same && self.filters == table.filters
    }
}

/// Returns the names that a server may get, the best first.
pub(crate) fn names(name: &str, host: Host) -> impl Iterator<Item = String> {
    let second = format!("{name}-{}", host.word());
    let more = (2_u64..).map({
        let second = second.clone();
        move |number| format!("{second}-{number}")
    });
    [name.to_owned(), second].into_iter().chain(more)
}
