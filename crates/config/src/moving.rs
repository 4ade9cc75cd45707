//! Moves servers of hosts to our gateway: they become servers of our own file, and each host's file gets one entry in
//! place of them.
//!
//! ```text
//! file -> table (a server in the words of our own file) -> own_file
//!      -> one_entry (the edits of the host's file)      -> disk      undo
//! ```

mod one_entry;
mod own_file;
mod table;
pub(crate) mod undo;
mod words;

use std::path::PathBuf;

use crate::disk;
use crate::document::Edit;
use crate::hosts::{Entry, File, Folders, Reached};
use crate::replacing::LoginAfter;
pub use one_entry::{GatewayEntry, TOKEN};
use one_entry::{Spot, is_gateway};
pub use own_file::OwnFile;
use table::ServerTable;

/// The plan for one server of a host's file.
pub enum MoveVerdict {
    /// The entry is the gateway's.
    Already,
    /// The entry stays, for this reason.
    Left(String),
    /// The server goes to the gateway.
    Move(Box<Move>),
}

/// A server that is moved.
pub struct Move {
    /// Its table, until that is added to our own file.
    table: Option<ServerTable>,
    /// Its name in our own file.
    pub name: String,
    /// Whether our own file did not have it.
    pub is_new: bool,
    /// What the gateway does not know about it.
    pub without: Vec<String>,
    /// What becomes of its login.
    pub login: LoginAfter,
}

/// A host's file, and what becomes of its servers.
pub struct MovePlan {
    /// The file.
    pub file: File,
    /// What becomes of each of its servers, in their order.
    pub verdicts: Vec<MoveVerdict>,
    edits: Vec<Edit>,
    /// The backup, or why nothing was written; `None` if nothing was to be written.
    pub written: Option<Result<PathBuf, String>>,
}

impl MovePlan {
    /// Plans what becomes of the servers of a file.
    pub fn of(file: File, is_wanted: impl Fn(&Entry) -> bool) -> Self {
        let judge = |entry: &Entry| match ServerTable::of(&file, entry) {
            _ if is_gateway(entry) => MoveVerdict::Already,
            _ if !is_wanted(entry) => MoveVerdict::Left("another was asked for".to_owned()),
            Err(why) => MoveVerdict::Left(why),
            Ok(table) => MoveVerdict::Move(Box::new(Move {
                name: entry.name.clone(),
                is_new: true,
                without: table.without.clone(),
                login: LoginAfter::NotNeeded,
                table: Some(table),
            })),
        };
        let verdicts = file.entries.iter().map(judge).collect();
        Self { file, verdicts, edits: Vec::new(), written: None }
    }

    /// Makes the edits of the host's file. If there are none, all its servers stay.
    pub fn edit(&mut self, gateway: &GatewayEntry) {
        let is_moved = |(_, it): &(&Entry, &MoveVerdict)| matches!(it, MoveVerdict::Move(_));
        let all = || self.file.entries.iter().zip(&self.verdicts);
        if !all().any(|it| is_moved(&it)) {
            return;
        }
        // An entry of the gateway that is there already is written anew, with those that are moved.
        let gone = all().filter(|it| is_moved(it) || matches!(it.1, MoveVerdict::Already));
        let gone: Vec<_> = gone.map(|(entry, _)| entry).collect();
        let (document, place) = (&self.file.document, &self.file.place);
        let write = |spot: &Spot<'_>| gateway.text(place.host, spot);
        match one_entry::edits(document, &place.path, &gone, &write) {
            Ok(edits) => self.edits = edits,
            Err(why) => {
                for verdict in &mut self.verdicts {
                    if matches!(verdict, MoveVerdict::Move(_)) {
                        *verdict = MoveVerdict::Left(format!("{why}: move it by hand"));
                    }
                }
            }
        }
    }

    /// Gives each server its place in our own file.
    pub fn place(&mut self, own: &mut OwnFile) {
        let host = self.file.place.host;
        for (entry, verdict) in self.file.entries.iter().zip(&mut self.verdicts) {
            if let MoveVerdict::Move(moved) = verdict
                && let Some(table) = moved.table.take()
            {
                let placed = own.add(&entry.name, host, table);
                (moved.name, moved.is_new) = (placed.name, placed.is_new);
            }
        }
    }

    /// Writes the file of the host, if there are edits.
    pub fn write(&mut self) {
        if self.edits.is_empty() {
            return;
        }
        let document = &self.file.document;
        let new = document.with(&self.edits);
        let written = disk::replace(&self.file.place.path, &document.text, &new);
        self.written = Some(written.map_err(|error| format!("{error:#}")));
    }
}

impl Move {
    /// Whether the server is at a URL, until it has its place in our own file.
    pub fn is_remote(&self) -> bool {
        self.table.as_ref().is_some_and(|it| matches!(it.reached, Reached::Remote(_)))
    }
}

/// Whether the gateway is in a file of a host of this user.
pub(crate) fn is_anywhere(folders: &Folders) -> bool {
    let files = folders.files().into_iter().filter_map(|place| File::read(place).ok());
    files.into_iter().any(|file| file.entries.iter().any(is_gateway))
}
