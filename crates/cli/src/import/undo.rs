//! Reverts an import: entries of our bridge get back the words that they had in a backup.
//!
//! Only those words: every other change in the file stays. Changes to those words would be lost, so in that
//! case the file is kept as a copy, and that is reported.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use secrecy::ExposeSecret;

use super::disk;
use super::document::{ConfigDocument, Edit};
use super::entry::{Entry, EntryKind, Local, entries};
use super::file::File;
use super::line::ProgramLine;
use super::moving::{self, undone_gateway};
use super::native;
use super::places::{ConfigPlace, Folders};
use super::plan::{self, EntryVerdict};
use super::show::{safe, shown};
use super::{ImportArgs, servers_of};
use crate::out;

/// Reverts the import in these files.
pub(super) fn play(
    args: &ImportArgs,
    places: Vec<ConfigPlace>,
    folders: &Folders,
) -> Result<ExitCode> {
    let mut undone = Vec::new();
    let mut tables = Vec::new();
    for place in places {
        let path = place.path.clone();
        let backups = disk::backups(&path);
        if backups.is_empty() {
            continue;
        }
        let mut restored = restore(args, place, &backups).with_context(|| shown(&path))?;
        tables.append(&mut restored.tables);
        undone.push((path, restored));
    }
    // As long as a host has the gateway, its servers are needed.
    if !tables.is_empty() && !moving::is_anywhere(folders) && moving::without_servers(&tables)? {
        eprintln!("the servers of the gateway are taken out of your `ridethrough.toml` again");
    }
    if args.json {
        let files = undone.iter().map(|(path, Restored { names, copy, .. })| {
            let copy = copy.as_ref().map(|copy| copy.to_string_lossy());
            serde_json::json!({ "path": path.to_string_lossy(), "restored": names, "copy": copy })
        });
        let json = serde_json::json!({ "files": files.collect::<Vec<_>>() });
        return out::print(|out| writeln!(out, "{json:#}"));
    }
    out::print(|out| {
        let undone = undone.iter().filter(|(_, it)| !it.names.is_empty());
        undone.clone().try_for_each(|(path, Restored { names, copy, .. })| {
            let names: Vec<_> = names.iter().map(|name| safe(name)).collect();
            writeln!(out, "{}  restored: {}", shown(path), names.join(", "))?;
            let Some(copy) = copy else { return Ok(()) };
            writeln!(out, "  its words were changed since; as it was: {}", shown(copy))
        })
    })?;
    eprintln!("{} restored", servers_of(undone.iter().map(|(_, it)| it.names.len()).sum()));
    Ok(ExitCode::SUCCESS)
}

/// The outcome for one file.
struct Restored {
    names: Vec<String>,
    /// A copy of the file before the undo, if edits in it were lost.
    copy: Option<PathBuf>,
    /// The texts that servers which left the gateway may have in our own file.
    tables: Vec<Vec<String>>,
}

/// Reverts one file, and removes backups that then equal the file.
fn restore(args: &ImportArgs, place: ConfigPlace, backups: &[PathBuf]) -> Result<Restored> {
    let path = place.path.clone();
    let file = File::read(place).map_err(|why| anyhow!("{why}"))?;
    let mut old = Vec::new();
    for backup in backups {
        let bytes = fs::read(backup).with_context(|| shown(backup))?;
        // The name of the backup does not show its format; the name of the file does.
        match ConfigDocument::read(&path, bytes) {
            Ok(document) => old.push((backup, document)),
            Err(why) => eprintln!("passed over {}, which is not whole: {why}", shown(backup)),
        }
    }
    let documents: Vec<_> = old.iter().map(|(_, document)| document).collect();
    let is_wanted = |entry: &Entry| args.wants(file.place.host, entry);
    if let Some(undone) = undone_gateway(&file.place, &file.document, &documents, is_wanted) {
        disk::overwrite(&path, &file.document.text, &undone.text)?;
        forget(&old, &undone.text)?;
        return Ok(Restored { names: undone.names, copy: None, tables: undone.tables });
    }
    let undone = edits(&path, &file.document, &documents, is_wanted);
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
    Ok(Restored { names, copy, tables: Vec::new() })
}

/// Removes backups that say what the file says.
fn forget(backups: &[(&PathBuf, ConfigDocument)], text: &str) -> Result<()> {
    for (backup, document) in backups {
        if document.text == text {
            fs::remove_file(backup).with_context(|| shown(backup))?;
        }
    }
    Ok(())
}

/// An entry that is reverted.
pub(super) struct Undone {
    pub(super) name: String,
    pub(super) edits: Vec<Edit>,
    /// Whether the entry has other words than `import` wrote.
    is_edited: bool,
}

/// Returns the edits that restore what the backups had. The newest backup comes first.
pub(super) fn edits(
    path: &Path,
    current: &ConfigDocument,
    backups: &[&ConfigDocument],
    is_wanted: impl Fn(&Entry) -> bool,
) -> Vec<Undone> {
    let ours = entries(current).into_iter().filter(|entry| is_wanted(entry));
    let old: Vec<_> = backups.iter().map(|backup| (*backup, entries(backup))).collect();
    let mut undone = Vec::new();
    for entry in ours {
        let Some(local) = bridge(&entry) else { continue };
        let before = old.iter().find_map(|(backup, entries)| {
            let before = entries.iter().find(|it| it.is_same(&entry))?;
            Some((*backup, before, edits_of(&entry, local, before, backup)?))
        });
        let Some((backup, before, edits)) = before else { continue };
        let is_edited = written(path, backup, before).is_none_or(|it| it != words(&entry, before));
        undone.push(Undone { name: entry.name, edits, is_edited });
    }
    undone
}

/// Returns the edits that restore one entry, if it was something that `import` replaces.
fn edits_of(
    now: &Entry,
    local: &Local,
    before: &Entry,
    backup: &ConfigDocument,
) -> Option<Vec<Edit>> {
    let edit = |to: Range<usize>, from: &Range<usize>| Edit {
        span: to,
        text: backup.text[from.clone()].to_owned(),
    };
    let was = match &before.kind {
        // The whole entry was replaced.
        EntryKind::Remote(_) => return Some(vec![edit(now.span.clone(), &before.span)]),
        EntryKind::Local(was) => was,
        EntryKind::Unknown(_) => return None,
    };
    if !matches!(ProgramLine::read(was), ProgramLine::McpRemote(_) | ProgramLine::Other(_)) {
        return None;
    }
    let (to, from) = (local.args_span.clone()?, was.args_span.as_ref()?);
    Some(vec![edit(local.command.span.clone(), &was.command.span), edit(to, from)])
}

/// Returns the words that `import` made of an entry, if it would make any today.
fn written(path: &Path, backup: &ConfigDocument, before: &Entry) -> Option<Vec<String>> {
    let verdict = match plan::judge(before, PROGRAM) {
        EntryVerdict::Could => native::rewritten(before, backup, path, PROGRAM),
        verdict => verdict,
    };
    let EntryVerdict::Replace(replacement) = verdict else { return None };
    let text = backup.with(&replacement.edits);
    let document = ConfigDocument::read(path, text.into_bytes()).ok()?;
    let written = entries(&document).into_iter().find(|it| it.is_same(before))?;
    Some(words(&written, before))
}

/// Returns the words of an entry that an undo removes.
fn words(entry: &Entry, before: &Entry) -> Vec<String> {
    let EntryKind::Local(local) = &entry.kind else { return Vec::new() };
    let args = local.args.iter().map(|word| word.text.expose_secret().to_owned());
    let env = entry.env.iter().map(|(name, it)| format!("{name}={}", it.expose_secret()));
    match before.kind {
        EntryKind::Remote(_) => args.chain(env).collect(),
        _ => args.collect(),
    }
}

/// Returns the program of an entry that starts our bridge.
fn bridge(entry: &Entry) -> Option<&Local> {
    match &entry.kind {
        EntryKind::Local(local) if matches!(ProgramLine::read(local), ProgramLine::Ours(_)) => {
            Some(local)
        }
        _ => None,
    }
}

/// A stand-in for the program's name, so that two command lines can be compared without it.
const PROGRAM: &str = "ridethrough";
