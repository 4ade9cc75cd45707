//! Reverts an import: what was replaced or moved comes back, by the backups beside each file.
//!
//! Every other change in a file stays. Changes to the words that come back would be lost, so in that case the file is
//! kept as a copy, and that is reported.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use ridethrough_terminal::safe;

use crate::document::ConfigDocument;
use crate::hosts::{Broken, ConfigPlace, Entry, File, Folders};
use crate::{disk, moving, replacing};

/// What was reverted.
pub struct UndoneFiles {
    /// The files that have backups, with what came back in each.
    pub files: Vec<(PathBuf, Restored)>,
    /// Whether servers were taken out of our own file again.
    pub is_own_changed: bool,
}

/// Reverts the import of the wanted servers in these files.
pub fn undo(
    places: Vec<ConfigPlace>,
    folders: &Folders,
    is_wanted: impl Fn(&ConfigPlace, &Entry) -> bool,
) -> Result<UndoneFiles> {
    let mut files = Vec::new();
    let mut tables = Vec::new();
    for place in places {
        let path = place.path.clone();
        let backups = disk::backups(&path);
        if backups.is_empty() {
            continue;
        }
        let restored = restore(place.clone(), &backups, |entry| is_wanted(&place, entry));
        let mut restored = restored.with_context(|| safe::path(&path))?;
        tables.append(&mut restored.tables);
        files.push((path, restored));
    }
    // As long as a host has the gateway, its servers are needed.
    let is_own_changed = !tables.is_empty()
        && !moving::is_anywhere(folders)
        && moving::undo::without_servers(&tables)?;
    Ok(UndoneFiles { files, is_own_changed })
}

/// The outcome for one file.
pub struct Restored {
    /// The servers that came back.
    pub names: Vec<String>,
    /// A copy of the file before the undo, if edits in it were lost.
    pub copy: Option<PathBuf>,
    /// Backups that cannot be read, each with the reason.
    pub broken: Vec<(PathBuf, Broken)>,
    /// The texts that servers which left the gateway may have in our own file.
    tables: Vec<Vec<String>>,
}

/// Reverts one file, and removes backups that then equal the file.
fn restore(
    place: ConfigPlace,
    backups: &[PathBuf],
    is_wanted: impl Fn(&Entry) -> bool,
) -> Result<Restored> {
    let path = place.path.clone();
    let file = File::read(place).map_err(|why| anyhow!("{why}"))?;
    let (mut old, mut broken) = (Vec::new(), Vec::new());
    for backup in backups {
        let bytes = fs::read(backup).with_context(|| safe::path(backup))?;
        // The name of the backup does not show its format; the name of the file does.
        match ConfigDocument::read(&path, bytes) {
            Ok(document) => old.push((backup, document)),
            Err(why) => broken.push((backup.clone(), why)),
        }
    }
    let documents: Vec<_> = old.iter().map(|(_, document)| document).collect();
    if let Some(undone) = moving::undo::undone(&file.place, &file.document, &documents, &is_wanted)
    {
        disk::overwrite(&path, &file.document.text, &undone.text)?;
        forget(&old, &undone.text)?;
        return Ok(Restored { names: undone.names, copy: None, tables: undone.tables, broken });
    }
    let undone = replacing::undo::edits(&path, &file.document, &documents, is_wanted);
    let edits: Vec<_> = undone.iter().flat_map(|it| it.edits.clone()).collect();
    let text = file.document.with(&edits);
    let mut copy = None;
    if !undone.is_empty() {
        if undone.iter().any(|it| it.is_edited) {
            copy = Some(disk::keep_undone(&path, &file.document.text)?);
        }
        disk::overwrite(&path, &file.document.text, &text)?;
    }
    forget(&old, &text)?;
    let names = undone.into_iter().map(|it| it.name).collect();
    Ok(Restored { names, copy, tables: Vec::new(), broken })
}

/// Removes backups that say what the file says.
fn forget(backups: &[(&PathBuf, ConfigDocument)], text: &str) -> Result<()> {
    for (backup, document) in backups {
        if document.text == text {
            fs::remove_file(backup).with_context(|| safe::path(backup))?;
        }
    }
    Ok(())
}
