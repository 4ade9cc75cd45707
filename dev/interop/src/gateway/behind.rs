//! A server and our gateway in front of it, each a process of its own.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough::Era;
use ridethrough_testkit::process;
use ridethrough_testkit::run::until;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::ServerKind;
use crate::partner::{Verdict, expect};
use crate::process::{Process, Recipe, noted};
use crate::proxy::Proxy;

/// A server behind our gateway. Dropping it ends both.
pub(super) struct Behind {
    pub(super) kind: ServerKind,
    pub(super) name: &'static str,
    /// The URL of the gateway.
    pub(super) url: String,
    /// Between the gateway and the server, where there is a connection.
    pub(super) proxy: Option<Proxy>,
    server: Option<Process>,
    ledger: PathBuf,
    gateway: Child,
}

impl Behind {
    pub(super) async fn start(
        ridethrough: &Path,
        kind: ServerKind,
        name: &'static str,
        mut recipe: Recipe,
    ) -> Result<Self> {
        // A run without the gateway may use this server at the same time.
        recipe.ledger = recipe.folder.join("gateway-ledger");
        recipe.log = recipe.folder.join("gateway-log");
        recipe.forget()?;
        let (ledger, folder) = (recipe.ledger.clone(), recipe.folder.clone());
        let mut recipe = match kind {
            ServerKind::HttpSse => recipe.old(),
            _ => recipe,
        };
        recipe.only = Some(if kind == ServerKind::Stateless { Era::Modern } else { Era::Legacy });
        let local = entry_of_program(&recipe);
        let (server, proxy, entry) = if kind == ServerKind::Stdio {
            (None, None, local)
        } else {
            let server = Process::start(recipe).await?;
            let proxy = match kind {
                ServerKind::June2025 => Proxy::offering(server.port(), "2025-06-18").await?,
                _ => Proxy::before(server.port()).await?,
            };
            let url = match kind {
                ServerKind::HttpSse => proxy.url().replace("/mcp", "/sse"),
                _ => proxy.url(),
            };
            (Some(server), Some(proxy), json!({ "url": url, "prefix": false }))
        };
        let (gateway, url) = gateway(ridethrough, &folder, kind, entry).await?;
        Ok(Self { kind, name, url, proxy, server, ledger, gateway })
    }

    /// Returns the URL of the server itself, if it has one.
    pub(super) fn direct(&self) -> Option<String> {
        self.server.as_ref().map(Process::url)
    }

    /// Returns how often the ledger has this note.
    pub(super) fn noted(&self, what: &str, key: &str) -> usize {
        noted(&self.ledger, &format!("{what} {key}"))
    }

    /// Waits until the ledger has this note.
    pub(super) async fn notes(&self, what: &str, key: &str) -> Verdict {
        let (within, pause) = (Duration::from_secs(5), Duration::from_millis(10));
        let is_noted = until(within, pause, || self.noted(what, key) > 0).await;
        expect(is_noted, || format!("the server did not note `{what}` within 5 s"))
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        if let Some(id) = self.gateway.id() {
            process::signal("KILL", &format!("-{id}"));
        }
    }
}

/// Returns the entry of a server that the gateway starts.
fn entry_of_program(recipe: &Recipe) -> Value {
    let script: Vec<_> = recipe.arguments.iter().take(1).cloned().chain(["stdio".into()]).collect();
    json!({
        "command": recipe.program,
        "args": script,
        "cwd": recipe.folder,
        "env": { "INTEROP_LEDGER": recipe.ledger },
        "prefix": false,
    })
}

/// Starts a gateway with one server, and returns its URL.
async fn gateway(
    ridethrough: &Path,
    folder: &Path,
    kind: ServerKind,
    entry: Value,
) -> Result<(Child, String)> {
    let home = folder.join(format!("gateway-{}", kind.name()));
    // What an earlier run has kept must not stand in for what this server lists.
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home)?;
    let config = home.join("servers.json");
    fs::write(&config, json!({ "servers": { "it": entry } }).to_string())?;
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600))?;
    let log = File::create(home.join("log"))?;
    let mut command = Command::new(ridethrough);
    command
        .args(["gateway", "--listen", "127.0.0.1:0", "--no-token", "--config"])
        .arg(&config)
        .envs(process::home(&home))
        .process_group(0);
    let mut child = process::start(&mut command, Stdio::null(), Stdio::piped(), log.into())?;
    let url = process::printed_url(&mut child, Duration::from_secs(10)).await;
    let url = url.with_context(|| format!("see {}", home.join("log").display()))?;
    Ok((child, url))
}
