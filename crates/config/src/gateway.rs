//! The config file of the gateway: servers of any host's file, and what only the gateway knows about them.

mod access;
mod file;
mod login;
mod reading;

use std::path::Path;

use crate::document::ConfigDocument;
use crate::hosts::entry::entries;
use crate::hosts::{File, Folders, Trust};
pub use access::{GatewayAccess, JwtSettings};
pub use file::{GatewayFile, GatewayServer, read};
pub use login::LoginOf;

/// Returns the names of the servers that a gateway would have with this file, or everything that is wrong with
/// it. Neither this machine's files nor its environment are looked at. It is for checks outside of this crate.
pub fn rehearse(path: &Path, bytes: Vec<u8>) -> Result<Vec<String>, Vec<String>> {
    let document = ConfigDocument::read(path, bytes).map_err(|broken| vec![broken.to_string()])?;
    let entries = entries(&document);
    let file = File { place: Folders::named(path), document, entries };
    let read = file::read_file(&file, &Folders::here(), Trust::None)?;
    Ok(read.servers.into_iter().map(|server| server.name).collect())
}
