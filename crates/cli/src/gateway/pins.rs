//! Approved definitions of tools, one small file for each server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ridethrough_bridge::disk;
use ridethrough_config::folders;
use ridethrough_gateway::Approved;

/// Reads what was approved of a server; `None` if nothing was, or if the file is not ours.
pub(super) fn read(server: &str) -> Option<Approved> {
    let text = disk::read(&path(server)?, MOST).ok()??;
    let hashes: BTreeMap<String, String> = serde_json::from_slice(&text).ok()?;
    Some(Approved::from_hashes(hashes))
}

/// Keeps what was approved of a server; or says why that cannot be done.
pub(super) fn keep(server: &str, approved: &Approved) -> Result<(), String> {
    let path = path(server).ok_or("this user has no folder of its own")?;
    let text = serde_json::to_vec(approved.hashes()).map_err(|error| error.to_string())?;
    disk::write(&path, &text).map_err(|error| error.to_string())
}

/// Forgets what was approved: the definitions that gateways see now, or next, are approved then. The file
/// stays, so that a gateway notices it however short the time was in which there was another one.
pub(super) fn forget(server: &str) -> Result<(), String> {
    let path = path(server).ok_or("this user has no folder of its own")?;
    disk::write(&path, b"null").map_err(|error| error.to_string())
}

/// Returns the file with what was approved of a server.
pub(super) fn path(server: &str) -> Option<PathBuf> {
    let name = format!("{}.json", &disk::digest(server.as_bytes())[..32]);
    Some(folders::state()?.join("pins").join(name))
}

const MOST: u64 = 4 << 20;
