//! The official suite, asked of servers of other SDKs directly and through our gateway. The suite is run by
//! `ridethrough-conformance`, which compares the two check by check.

use std::path::PathBuf;

use anyhow::{Context, Result};
use tokio::process::Command;

use super::behind::Behind;
use super::{ServerKind, installed};
use crate::install::Places;
use crate::run::bridge;

/// Asks every server with the suite's own tools, or those that are named, in its revisions. Returns whether
/// nothing is worse.
pub(crate) async fn run(
    named: &[&str],
    ridethrough: Option<PathBuf>,
    conformance: Option<PathBuf>,
) -> Result<bool> {
    let places = Places::find()?;
    let ridethrough = bridge(ridethrough)?;
    let conformance =
        conformance.unwrap_or_else(|| ridethrough.with_file_name("ridethrough-conformance"));
    let mut is_good = true;
    for (name, kind) in SERVERS {
        if !named.is_empty() && !named.contains(&name) {
            continue;
        }
        let Some(mut recipe) = installed(&places, name).await? else {
            println!("suite: {name} skipped: its package manager did not answer");
            continue;
        };
        recipe.settings = &[("INTEROP_CONFORMANCE", "1")];
        let behind = Behind::start(&ridethrough, kind, name, recipe).await?;
        let direct = behind.direct().context("it has no URL")?;
        println!("{name}:");
        let asked = Command::new(&conformance)
            .args(["server", "--direct", &direct, "--through", &behind.url])
            .args(["--revision", kind.name()])
            .kill_on_drop(true)
            .status()
            .await;
        let asked = asked.with_context(|| format!("`{}`", conformance.display()))?;
        is_good &= asked.success();
    }
    Ok(is_good)
}

/// Returns the server of this name, if it has the suite's tools.
pub(crate) fn server(name: &str) -> Result<&'static str, String> {
    SERVERS.iter().map(|(each, _)| *each).find(|each| *each == name).ok_or_else(|| {
        let mut names = SERVERS.map(|(each, _)| each).to_vec();
        names.dedup();
        format!("must be one of {}", names.join(", "))
    })
}

/// The servers that have the suite's tools, each with the revisions that it speaks.
const SERVERS: [(&str, ServerKind); 7] = [
    ("python", ServerKind::November2025),
    ("python", ServerKind::Stateless),
    ("rmcp", ServerKind::November2025),
    ("rmcp", ServerKind::Stateless),
    ("typescript", ServerKind::November2025),
    ("typescript-split", ServerKind::November2025),
    ("typescript-split", ServerKind::Stateless),
];
