//! The way back: the servers that a backup has take the place of the gateway's entry again.

use std::path::Path;

use anyhow::Result;

use crate::document::{ConfigDocument, Edit};
use crate::hosts::Host;
use crate::hosts::entry::{Entry, entries};
use crate::hosts::file::File;
use crate::hosts::places::ConfigPlace;
use crate::moving::one_entry::{self, find, is_gateway};
use crate::moving::own_file::{OwnFile, names};
use crate::moving::table::ServerTable;
use crate::moving::words::{extent, is_toml};

/// A host's file with its servers back in it.
pub(crate) struct GatewayUndone {
    pub(crate) text: String,
    /// The servers that came back.
    pub(crate) names: Vec<String>,
    /// The texts that each of them may have in our own file.
    pub(crate) tables: Vec<Vec<String>>,
}

/// Returns a host's file with its servers back; `None` if the gateway is not in it. The newest backup comes
/// first; an older one may have servers that were moved before.
pub(crate) fn undone(
    place: &ConfigPlace,
    current: &ConfigDocument,
    backups: &[&ConfigDocument],
    is_wanted: impl Fn(&Entry) -> bool,
) -> Option<GatewayUndone> {
    let mut undone =
        GatewayUndone { text: current.text.clone(), names: Vec::new(), tables: Vec::new() };
    for backup in backups {
        let now = read(&place.path, undone.text.clone())?;
        let (here, there) = (entries(&now), entries(backup));
        let Some(gateway) = here.iter().find(|it| is_gateway(it)) else { break };
        let is_missing = |it: &&Entry| !is_gateway(it) && !here.iter().any(|here| here.is_same(it));
        let missing: Vec<_> = there.iter().filter(is_missing).collect();
        let wanted: Vec<_> = missing.iter().copied().filter(|it| is_wanted(it)).collect();
        if wanted.is_empty() {
            continue;
        }
        let is_all = wanted.len() == missing.len();
        let exact =
            is_all.then(|| exactly(place, &now, gateway, backup, &there, &missing)).flatten();
        let text = exact.or_else(|| merged(place, &now, gateway, backup, &there, &wanted, is_all));
        let Some(text) = text else { continue };
        undone.text = text;
        undone.names.extend(wanted.iter().map(|it| it.name.clone()));
        undone.tables.extend(wanted.iter().filter_map(|it| tables(place, backup, it)));
    }
    (!undone.names.is_empty()).then_some(undone)
}

/// Takes the tables of servers that came back out of our own file, and returns whether there were any.
pub(crate) fn without_servers(tables: &[Vec<String>]) -> Result<bool> {
    OwnFile::read()?.remove(tables)
}

/// Returns the backup, if the file is what the import made of it.
fn exactly(
    place: &ConfigPlace,
    now: &ConfigDocument,
    gateway: &Entry,
    backup: &ConfigDocument,
    there: &[Entry],
    missing: &[&Entry],
) -> Option<String> {
    let own = text_of(place, now, gateway)?;
    let gone = there.iter().filter(|it| is_gateway(it));
    let gone: Vec<_> = missing.iter().copied().chain(gone).collect();
    let edits = one_entry::edits(backup, &place.path, &gone, &|_| own.clone()).ok()?;
    (backup.with(&edits) == now.text).then(|| backup.text.clone())
}

/// Puts the entries in place of the gateway's. It stays beside them if others still need it.
fn merged(
    place: &ConfigPlace,
    now: &ConfigDocument,
    gateway: &Entry,
    backup: &ConfigDocument,
    there: &[Entry],
    wanted: &[&Entry],
    is_all: bool,
) -> Option<String> {
    let mut texts = Vec::new();
    for entry in wanted {
        texts.push(text_of(place, backup, entry)?);
    }
    if !is_all || there.iter().any(is_gateway) {
        texts.push(text_of(place, now, gateway)?);
    }
    let node = find(&now.root, &gateway.span, &mut Vec::new())?.node;
    let span = extent(now, &place.path, node)?;
    let between = if is_toml(&place.path) {
        "\n".to_owned()
    } else {
        let before = &now.text[..span.start];
        let lead = &before[before.trim_end().len()..];
        format!(",{}", if lead.is_empty() { " " } else { lead })
    };
    let text = now.with(&[Edit { span, text: texts.join(&between) }]);
    // What cannot be read again is not written.
    read(&place.path, text.clone()).map(|_| text)
}

/// Returns the text of an entry with its name.
fn text_of(place: &ConfigPlace, document: &ConfigDocument, entry: &Entry) -> Option<String> {
    let node = find(&document.root, &entry.span, &mut Vec::new())?.node;
    Some(document.text[extent(document, &place.path, node)?].to_owned())
}

/// Returns the texts that a server may have in our own file: under each name that it may have got.
fn tables(place: &ConfigPlace, backup: &ConfigDocument, entry: &Entry) -> Option<Vec<String>> {
    let document = read(&place.path, backup.text.clone())?;
    let file = File { place: place.clone(), entries: entries(&document), document };
    let entry = file.entries.iter().find(|it| it.is_same(entry))?;
    let table = ServerTable::of(&file, entry).ok()?;
    let host: Host = place.host;
    Some(names(&entry.name, host).take(MOST_NAMES).map(|name| table.text(&name)).collect())
}

fn read(path: &Path, text: String) -> Option<ConfigDocument> {
    ConfigDocument::read(path, text.into_bytes()).ok()
}

/// A server of one name is in few hosts.
const MOST_NAMES: usize = 10;
