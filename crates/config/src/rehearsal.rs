//! Runs `import --write` and `--undo` on a text instead of a file, for tests and for a fuzzer: no disk, no
//! server, no environment.

use std::path::Path;

use crate::document::{ConfigDocument, Edit};
use crate::hosts::Host;
use crate::hosts::entry::{Entry, entries};
use crate::hosts::reach::{Reached, Unreached, reach};
use crate::hosts::variables::VariableScope;
use crate::hosts::{File, Folders};
use crate::replacing::plan::judge;
use crate::replacing::undo;
use crate::replacing::{EntryVerdict, ReplacePlan};

/// The result of running `import` on a config file.
pub struct Rehearsal {
    /// The file after `--write`.
    pub written: String,
    /// The file after a second `--write`.
    pub written_again: String,
    /// The file after `--write` and `--undo`.
    pub undone: String,
    /// What `import` would tell of it.
    pub plan: ReplacePlan,
    /// The servers that would be reached otherwise than before.
    pub astray: Vec<String>,
}

/// Does everything that `import` does with the file at this path, which is not opened.
///
/// # Errors
///
/// Returns the message for people about a file that cannot be read.
///
/// # Panics
///
/// Panics if the text that it would write could not be read again.
pub fn rehearse(path: &Path, bytes: Vec<u8>) -> Result<Rehearsal, String> {
    let before = ConfigDocument::read(path, bytes).map_err(|broken| broken.to_string())?;
    let after = reread(path, written(&before, PROGRAM));
    let (old, new) = (entries(&before), entries(&after));
    let astray = old.iter().zip(&new).filter(|(old, new)| !is_reached_alike(path, old, new));
    let mut astray: Vec<_> = astray.map(|(old, _)| old.name.clone()).collect();
    if old.len() != new.len() {
        astray.push(format!("{} servers became {}", old.len(), new.len()));
    }
    let undone = undone(path, &after, &before);
    let verdicts = old.iter().map(|entry| judge(entry, PROGRAM)).collect();
    let file = File { place: Folders::named(path), document: before, entries: old };
    let plan = ReplacePlan { file, verdicts, written: None };
    Ok(Rehearsal {
        written_again: written(&after, PROGRAM),
        undone,
        written: after.text,
        plan,
        astray,
    })
}

/// Returns the text after `import --write`.
pub(crate) fn written(document: &ConfigDocument, program: &str) -> String {
    let edits = entries(document).into_iter().filter_map(|entry| match judge(&entry, program) {
        EntryVerdict::Replace(replacement) => Some(replacement.edits),
        _ => None,
    });
    document.with(&edits.flatten().collect::<Vec<Edit>>())
}

/// Returns the text after `import --undo`.
pub(crate) fn undone(path: &Path, document: &ConfigDocument, backup: &ConfigDocument) -> String {
    let undone = undo::edits(path, document, &[backup], |_| true);
    document.with(&undone.into_iter().flat_map(|it| it.edits).collect::<Vec<_>>())
}

fn reread(path: &Path, text: String) -> ConfigDocument {
    let read = ConfigDocument::read(path, text.into_bytes());
    read.unwrap_or_else(|broken| unreadable(&broken.to_string()))
}

#[expect(clippy::panic, reason = "it is the finding that a rehearsal is for")]
fn unreadable(broken: &str) -> ConfigDocument {
    panic!("what import writes cannot be read: {broken}")
}

fn is_reached_alike(path: &Path, old: &Entry, new: &Entry) -> bool {
    match (reached(path, old), reached(path, new)) {
        (Ok(old), Ok(new)) => old.is_same(&new),
        (Err(old), Err(new)) => old == new,
        _ => false,
    }
}

/// Returns how an entry is reached if every second variable is set.
fn reached(path: &Path, entry: &Entry) -> Result<Reached, Unreached> {
    let environment = |name: &str| name.len().is_multiple_of(2).then(|| format!("value of {name}"));
    let workspace = path.parent();
    let scope =
        VariableScope { environment: &environment, home: workspace, workspace, may_read: false };
    reach(entry, Host::of(path).dialect(), scope)
}

const PROGRAM: &str = "/bin/ridethrough";
