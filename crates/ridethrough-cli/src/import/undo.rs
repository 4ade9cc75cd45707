//! The way back: entries that are ours take back the words that they had in a backup.
//!
//! Only those words: whatever else was changed in the file since then stays.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};

use super::disk;
use super::document::{Document, Edit};
use super::entry::{Entry, Kind, Local, entries};
use super::file::File;
use super::line::Line;
use super::places::Place;
use super::show::{safe, shown};
use super::{Args, servers_of};
use crate::out;

/// Brings back what was replaced in these files.
pub(super) fn play(args: &Args, places: Vec<Place>) -> Result<ExitCode> {
    let mut undone = Vec::new();
    for place in places {
        let path = place.path.clone();
        let backups = disk::backups(&path);
        if backups.is_empty() {
            continue;
        }
        let restored = restore(args, place, &backups).with_context(|| shown(&path))?;
        undone.push((path, restored));
    }
    if args.json {
        let files = undone.iter().map(|(path, names)| {
            serde_json::json!({ "path": path.to_string_lossy(), "restored": names })
        });
        let json = serde_json::json!({ "files": files.collect::<Vec<_>>() });
        return out::print(|out| writeln!(out, "{json:#}"));
    }
    out::print(|out| {
        let undone = undone.iter().filter(|(_, names)| !names.is_empty());
        undone.clone().try_for_each(|(path, names)| {
            let names: Vec<_> = names.iter().map(|name| safe(name)).collect();
            writeln!(out, "{}  restored: {}", shown(path), names.join(", "))
        })
    })?;
    eprintln!("{} restored", servers_of(undone.iter().map(|(_, names)| names.len()).sum()));
    Ok(ExitCode::SUCCESS)
}

/// Brings one file back, and removes backups that say nothing else than the file does then.
fn restore(args: &Args, place: Place, backups: &[PathBuf]) -> Result<Vec<String>> {
    let path = place.path.clone();
    let file = File::read(place).map_err(|why| anyhow!("{why}"))?;
    let mut old = Vec::new();
    for backup in backups {
        let bytes = fs::read(backup).with_context(|| shown(backup))?;
        // The ending of a backup's name says nothing; that of its file does.
        let document = Document::read(&path, bytes);
        old.push(document.map_err(|why| anyhow!("{}: {why}", shown(backup)))?);
    }
    let edits = edits(&file.document, &old, |entry| args.wants(entry));
    let (names, edits): (Vec<_>, Vec<_>) = edits.into_iter().unzip();
    let text = file.document.with(&edits.concat());
    if !names.is_empty() {
        disk::overwrite(&path, &text)?;
    }
    for (backup, document) in backups.iter().zip(&old) {
        if document.text == text {
            fs::remove_file(backup).with_context(|| shown(backup))?;
        }
    }
    Ok(names)
}

/// The edits that bring back what the backups had, by the names of the servers. The newest backup
/// comes first.
pub(super) fn edits(
    current: &Document,
    backups: &[Document],
    is_wanted: impl Fn(&Entry) -> bool,
) -> Vec<(String, Vec<Edit>)> {
    let ours = entries(current).into_iter().filter(|entry| is_wanted(entry));
    let old: Vec<_> = backups.iter().map(|backup| (backup, entries(backup))).collect();
    let mut undone = Vec::new();
    for entry in ours {
        let Some(place) = bridge(&entry) else { continue };
        let before = old.iter().find_map(|(backup, entries)| {
            let before = entries.iter().find(|it| it.is_same(&entry))?;
            Some((*backup, remote(before)?))
        });
        let Some((backup, before)) = before else { continue };
        let edit = |to: Range<usize>, from: Range<usize>| Edit {
            span: to,
            text: backup.text[from].to_owned(),
        };
        undone.push((entry.name, vec![edit(place.0, before.0), edit(place.1, before.1)]));
    }
    undone
}

/// Where program and arguments stand in an entry that is ours.
fn bridge(entry: &Entry) -> Option<(Range<usize>, Range<usize>)> {
    local(entry).filter(|local| matches!(Line::read(local), Line::Ours(_))).and_then(places)
}

/// Where they stand in an entry of `mcp-remote`.
fn remote(entry: &Entry) -> Option<(Range<usize>, Range<usize>)> {
    local(entry).filter(|local| matches!(Line::read(local), Line::McpRemote(_))).and_then(places)
}

fn local(entry: &Entry) -> Option<&Local> {
    match &entry.kind {
        Kind::Local(local) => Some(local),
        _ => None,
    }
}

fn places(local: &Local) -> Option<(Range<usize>, Range<usize>)> {
    Some((local.command.span.clone(), local.args_span.clone()?))
}
