//! Our gateway between hosts and servers of other SDKs, each of one revision: neither end is ours.
//!
//! ```text
//!   host (2025-06-18 | 2025-11-25 | 2026-07-28)  ──HTTP──▶  gateway  ──▶  server of one revision or transport
//! ```
//! A host offers one revision; a server speaks no newer one, because a proxy offers it none.

mod behind;
mod features;
mod limits;
mod suite;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough::Era;
use tokio::time::timeout;

use crate::catalog::{SERVERS, Server};
use crate::host::{Host, HostRecipe};
use crate::install::{Installed, Places, host};
use crate::process::Recipe;
use crate::report::Outcome;
use crate::run::bridge;

use behind::Behind;
use features::{FEATURES, Feature, Happened};
use limits::limit;
use table::Cell;

pub(crate) use suite::{run as run_suite, server as suite_server};

/// The settings of a run.
pub(crate) struct GatewayOrder {
    pub(crate) all: bool,
    pub(crate) feature: String,
    /// The program `ridethrough`.
    pub(crate) ridethrough: Option<PathBuf>,
    pub(crate) table: Option<PathBuf>,
}

/// A revision that a host offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostRevision {
    June2025,
    November2025,
    Stateless,
}

/// What a server behind the gateway speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerKind {
    June2025,
    November2025,
    Stateless,
    HttpSse,
    Stdio,
}

impl HostRevision {
    const ALL: [Self; 3] = [Self::June2025, Self::November2025, Self::Stateless];

    const fn revision(self) -> &'static str {
        match self {
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// The SDK of the host.
    const fn sdk(self) -> &'static str {
        match self {
            Self::June2025 | Self::November2025 => "typescript",
            Self::Stateless => "typescript-split",
        }
    }

    async fn start(self, hosts: &Hosts, url: &str) -> Result<Host, String> {
        match self {
            Self::June2025 => {
                Host::start_at(&hosts.legacy, url, Era::Legacy, Some(self.revision())).await
            }
            Self::November2025 => Host::start_at(&hosts.legacy, url, Era::Legacy, None).await,
            Self::Stateless => Host::start_at(&hosts.stateless, url, Era::Modern, None).await,
        }
    }
}

impl ServerKind {
    const ALL: [Self; 5] =
        [Self::June2025, Self::November2025, Self::Stateless, Self::HttpSse, Self::Stdio];

    const fn name(self) -> &'static str {
        match self {
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::Stateless => "2026-07-28",
            Self::HttpSse => "HTTP+SSE",
            Self::Stdio => "stdio",
        }
    }

    /// The servers of these kinds, of one SDK.
    const fn server(self, sdk: Sdk) -> Option<&'static str> {
        match (sdk, self) {
            (Sdk::TypeScript, Self::Stateless) => Some("typescript-split"),
            (Sdk::TypeScript, _) => Some("typescript"),
            // What these servers note about a session is in the headers of HTTP; Python speaks all eras at once.
            (Sdk::Python, Self::Stateless | Self::Stdio)
            | (Sdk::Rust, Self::HttpSse | Self::Stdio) => None,
            (Sdk::Python, _) => Some("python"),
            (Sdk::Rust, _) => Some("rmcp"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sdk {
    Python,
    Rust,
    TypeScript,
}

/// The hosts, ready to be started.
struct Hosts {
    legacy: HostRecipe,
    stateless: HostRecipe,
}

/// Carries out a run, and returns whether everything is as documented.
pub(crate) async fn run(order: GatewayOrder) -> Result<bool> {
    let places = Places::find()?;
    let ridethrough = bridge(order.ridethrough)?;
    let Some(hosts) = hosts(&places, &ridethrough).await? else {
        println!("gateway: skipped: the TypeScript SDKs could not be installed");
        return Ok(true);
    };
    let sdks: &[Sdk] =
        if order.all { &[Sdk::TypeScript, Sdk::Python, Sdk::Rust] } else { &[Sdk::TypeScript] };
    let features = FEATURES.iter().filter(|(_, name)| name.contains(&order.feature));
    let features: Vec<_> = features.map(|(feature, _)| feature).collect();
    let mut cells = Vec::new();
    for sdk in sdks {
        for kind in ServerKind::ALL.into_iter().filter(|it| order.all || it.is_in_a_short_run()) {
            let Some(name) = kind.server(*sdk) else { continue };
            let Some(recipe) = installed(&places, name).await? else {
                println!("gateway: {name} skipped: its package manager did not answer");
                continue;
            };
            let behind = Behind::start(&ridethrough, kind, name, recipe).await?;
            for revision in HostRevision::ALL {
                if order.all || revision != HostRevision::June2025 {
                    cells.extend(pair(&behind, revision, &hosts, &features).await);
                }
            }
        }
    }
    for cell in cells.iter().filter(|it| it.outcome.is_bad()) {
        println!("{cell}");
    }
    if let Some(path) = &order.table {
        table::write_into(path, &cells)?;
    }
    let bad = cells.iter().filter(|it| it.outcome.is_bad()).count();
    let good = cells.iter().filter(|it| it.outcome == Outcome::Passed).count();
    println!("gateway: {} cells: {good} yes, {bad} bad, the rest as documented", cells.len());
    Ok(bad == 0)
}

impl ServerKind {
    const fn is_in_a_short_run(self) -> bool {
        matches!(self, Self::November2025 | Self::Stateless)
    }
}

/// Tries every feature with one host and one server.
async fn pair(
    behind: &Behind,
    revision: HostRevision,
    hosts: &Hosts,
    features: &[&Feature],
) -> Vec<Cell> {
    let cell = |feature: &Feature, outcome| Cell {
        host: revision,
        kind: behind.kind,
        server: behind.name,
        feature: feature.name(),
        outcome,
    };
    let mut host = match revision.start(hosts, &behind.url).await {
        Ok(host) => host,
        Err(why) => {
            let failed = |it: &&Feature| cell(it, Outcome::Failed(why.clone()));
            return features.iter().map(failed).collect();
        }
    };
    let mut cells = Vec::new();
    for feature in features {
        let limit = limit(revision, behind.kind, behind.name, feature.name());
        if let Some(limit) = limit.filter(|it| !it.is_asked) {
            cells.push(cell(feature, Outcome::Limit(limit.instead)));
            continue;
        }
        host.forget();
        let tried = timeout(FEATURE_LIMIT, feature.run(behind, revision, &mut host)).await;
        let tried = tried.unwrap_or_else(|_| Err("it did not end within 40 s".to_owned()));
        let outcome = match (tried, limit) {
            (Ok(Happened::AsWanted), None) => Outcome::Passed,
            (Ok(Happened::AsWanted), Some(limit)) => Outcome::LimitGone(limit.instead),
            (Ok(Happened::Instead), Some(limit)) => Outcome::Limit(limit.instead),
            (Ok(Happened::Instead), None) => {
                Outcome::Failed("it ended in doubt, which is documented nowhere".to_owned())
            }
            (Err(why), _) => Outcome::Failed(why),
        };
        if outcome.is_bad() {
            eprintln!("{}", cell(feature, outcome.clone()));
        }
        cells.push(cell(feature, outcome));
    }
    cells
}

async fn hosts(places: &Places, ridethrough: &Path) -> Result<Option<Hosts>> {
    let mut found = Vec::new();
    for revision in [HostRevision::November2025, HostRevision::Stateless] {
        let server = server(revision.sdk())?;
        let Some(recipe) = installed(places, server.name).await? else { return Ok(None) };
        found.push(host(server, &recipe, ridethrough).context("there is no host of this SDK")?);
    }
    let mut found = found.into_iter();
    Ok(found.next().zip(found.next()).map(|(legacy, stateless)| Hosts { legacy, stateless }))
}

async fn installed(places: &Places, name: &str) -> Result<Option<Recipe>> {
    match places.install(server(name)?.package()).await? {
        Installed::Ready(recipe) => Ok(Some(recipe)),
        Installed::Skipped(_) => Ok(None),
    }
}

fn server(name: &str) -> Result<&'static Server> {
    SERVERS.iter().find(|it| it.name == name).with_context(|| format!("there is no `{name}`"))
}

const FEATURE_LIMIT: Duration = Duration::from_secs(40);
