//! Follows the config file and the file of tokens: what an edit changes is changed, and a bad edit changes
//! nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ridethrough_gateway::Gateway;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::config;
use super::door::Door;
use crate::expose::voice::Voice;

/// Reads the files again whenever one of them changes, or a SIGHUP comes.
pub(super) async fn follow(path: &Path, gateway: &Gateway, door: &Door, voice: &Voice) {
    // Where it cannot be heard, the file is still looked at.
    let mut hangups = signal(SignalKind::hangup()).ok();
    let mut seen = [mark(path), door.tokens_file().as_deref().and_then(mark)];
    loop {
        let is_asked = tokio::select! {
            () = hangup(&mut hangups) => true,
            () = sleep(LOOK) => false,
        };
        let now = [mark(path), door.tokens_file().as_deref().and_then(mark)];
        if !is_asked && now == seen {
            continue;
        }
        seen = now;
        match config::read(path) {
            Ok(config) => {
                let count = config.servers.len();
                // Rights first: what is new must not be seen by those who may not.
                gateway.set_access(config.access.rights.clone());
                door.renew(&config.access, &config.tokens, voice);
                gateway.set_servers(config.servers).await;
                voice.tell(&format!("the config file was read again: {count} servers"));
            }
            Err(misuse) => {
                voice.tell(&format!("{}; what was read before stays in force", misuse.what));
            }
        }
    }
}

async fn hangup(signal: &mut Option<tokio::signal::unix::Signal>) {
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
