//! Follows the config file, the file of tokens and what was approved: what an edit changes is changed, and a
//! bad edit changes nothing.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ridethrough_gateway::Gateway;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::config::{self, GatewayConfig};
use super::live_tokens::LiveTokens;
use super::pins;
use crate::expose::voice::Voice;

/// Hears SIGHUP from here on: one that nobody hears would end the process. Where it cannot be heard, the files
/// are still looked at.
pub(super) fn hear() -> Option<Signal> {
    signal(SignalKind::hangup()).ok()
}

/// What may change while the gateway runs.
pub(super) struct Followed<'a> {
    pub(super) path: &'a Path,
    pub(super) hangups: Option<Signal>,
    pub(super) pinned: Pinned,
}

impl Followed<'_> {
    /// Reads the files again whenever one of them changes, or a SIGHUP comes. Of the servers that are pinned, what
    /// was approved is read again when that changes.
    pub(super) async fn follow(self, gateway: &Gateway, tokens: &LiveTokens, voice: &Voice) {
        let Self { path, mut hangups, mut pinned } = self;
        let mut seen = [mark(path), tokens.file().as_deref().and_then(mark)];
        loop {
            let is_asked = tokio::select! {
                () = hangup(&mut hangups) => true,
                () = sleep(LOOK) => false,
            };
            pinned.follow(gateway);
            let now = [mark(path), tokens.file().as_deref().and_then(mark)];
            if !is_asked && now == seen {
                continue;
            }
            seen = now;
            match config::read(path) {
                Ok(config) => {
                    let count = config.servers.len();
                    pinned = Pinned::of(&config);
                    // Rights first: what is new must not be seen by those who may not.
                    gateway.set_access(config.file.access.rights.clone());
                    tokens.renew(&config.file.access, &config.tokens, voice);
                    gateway.set_servers(config.servers).await;
                    voice.tell(&format!("the config file was read again: {count} servers"));
                }
                Err(misuse) => {
                    voice.tell(&format!("{}; what was read before stays in force", misuse.what));
                }
            }
        }
    }
}

/// The servers that are pinned, and the files with what was approved of them as they were last seen.
pub(super) struct Pinned(Vec<(Arc<str>, Option<FileMark>)>);

impl Pinned {
    pub(super) fn of(config: &GatewayConfig) -> Self {
        let pinned = config.servers.iter().filter(|it| it.rules.is_pinned);
        let marked = |name: &Arc<str>| (name.clone(), pins::path(name).and_then(|it| mark(&it)));
        Self(pinned.map(|it| marked(&it.name)).collect())
    }

    /// Takes over what `ridethrough gateway approve`, or another gateway, has approved.
    fn follow(&mut self, gateway: &Gateway) {
        for (name, seen) in &mut self.0 {
            let look = || pins::path(name).and_then(|it| mark(&it));
            if look() != *seen {
                gateway.set_approved(name, pins::read(name));
                // The gateway may have approved something itself, which was kept.
                *seen = look();
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
fn mark(path: &Path) -> Option<FileMark> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// What tells one version of a file from another: when it was written, and its length.
type FileMark = (SystemTime, u64);

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);
