//! Follows the config file: what an edit changes is changed, and a bad edit changes nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ridethrough_gateway::Gateway;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::config;
use crate::expose::voice::Voice;

/// Hears SIGHUP from here on: one that nobody hears would end the process. Where it cannot be heard, the file is
/// still looked at.
pub(super) fn hear() -> Option<Signal> {
    signal(SignalKind::hangup()).ok()
}

/// Reads the file again whenever it changes, or a SIGHUP comes.
pub(super) async fn follow(
    path: &Path,
    mut hangups: Option<Signal>,
    gateway: &Gateway,
    voice: &Voice,
) {
    let mut seen = mark(path);
    loop {
        let is_asked = tokio::select! {
            () = hangup(&mut hangups) => true,
            () = sleep(LOOK) => false,
        };
        let now = mark(path);
        if !is_asked && now == seen {
            continue;
        }
        seen = now;
        match config::read(path) {
            Ok(config) => {
                let count = config.servers.len();
                gateway.set_servers(config.servers).await;
                voice.tell(&format!("the config file was read again: {count} servers"));
            }
            Err(misuse) => {
                voice.tell(&format!("{}; what was read before stays in force", misuse.what));
            }
        }
    }
}

async fn hangup(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// What tells one version of the file from another.
fn mark(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(2);
