//! The way back from our bridge: entries get back the words that they had in a backup.
//!
//! Only those words: every other change in the file stays.

use std::ops::Range;
use std::path::Path;

use secrecy::ExposeSecret;

use crate::document::{ConfigDocument, Edit};
use crate::hosts::entry::{Entry, EntryKind, Local, entries};
use crate::hosts::line::ProgramLine;
use crate::replacing::native;
use crate::replacing::plan;
use crate::replacing::verdict::EntryVerdict;

/// An entry that is reverted.
pub(crate) struct Undone {
    pub(crate) name: String,
    pub(crate) edits: Vec<Edit>,
    /// Whether the entry has other words than `import` wrote.
    pub(crate) is_edited: bool,
}

/// Returns the edits that restore what the backups had. The newest backup comes first.
pub(crate) fn edits(
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
