//! Reads a config file of the gateway that is in memory, for checks outside of this crate.

use std::path::Path;

use super::document::ConfigDocument;
use super::entry::entries;
use super::file::{File, Trust};
use super::for_gateway::read_file;
use super::places::Folders;

/// Returns the names of the servers that a gateway would have with this file, or everything that is wrong with
/// it. Neither this machine's files nor its environment are looked at. It is for checks outside of this crate.
pub fn rehearse_gateway_config(path: &Path, bytes: Vec<u8>) -> Result<Vec<String>, Vec<String>> {
    let document = ConfigDocument::read(path, bytes).map_err(|broken| vec![broken.to_string()])?;
    let entries = entries(&document);
    let file = File { place: Folders::named(path), document, entries };
    let read = read_file(&file, &Folders::here(), Trust::None)?;
    Ok(read.servers.into_iter().map(|server| server.name).collect())
}
