//! Authorization servers that we did not write: a person logs in, tokens are renewed, sent twice, revoked.

mod bench;
mod checks;
mod page;
mod robot;

use std::path::PathBuf;

use anyhow::Result;
use futures_util::TryFutureExt;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::time::Instant;

use crate::catalog::{Installer, NPM_PINS, PIP_PINS, Package};
use crate::install::{Installed, Places};
use crate::limits::limit;
use crate::process::Process;
use crate::report::{Column, Outcome, Report};
use crate::run::judged;

use bench::{LoginBench, own_files};
use checks::{LOGIN_CHECKS, LoginCheck};

/// The server with the pages of a real login.
pub(crate) const OIDC_PROVIDER: Package = Package {
    folder: "oidc-provider",
    pins: NPM_PINS,
    name: "oidc-provider",
    installer: Installer::Npm { script: "server.mjs", argument: None },
};

/// The authorization servers.
const GUARDS: &[Package] = &[
    OIDC_PROVIDER,
    Package {
        folder: "nanoidp",
        pins: PIP_PINS,
        name: "nanoidp",
        installer: Installer::Pip { script: "server.py" },
    },
    Package { folder: "fastmcp", pins: PIP_PINS, name: "fastmcp", installer: OWN },
    Package { folder: "python", pins: PIP_PINS, name: "mcp", installer: OWN },
];

const OWN: Installer = Installer::Pip { script: "authorization.py" };

/// The settings of a run.
pub(crate) struct AuthorizationOrder {
    /// Only checks whose name contains this.
    pub(crate) check: String,
    pub(crate) table: Option<PathBuf>,
}

/// Carries out a run, and returns whether everything is as documented.
pub(crate) async fn run(order: AuthorizationOrder) -> Result<bool> {
    let places = Places::find()?;
    let checks: Vec<_> =
        LOGIN_CHECKS.iter().filter(|check| check.sentence().contains(&order.check)).collect();
    let columns = GUARDS.iter().enumerate().map(|(place, package)| {
        column(&places, *package, &checks).map_ok(move |column| (place, column))
    });
    let columns = stream::iter(columns).buffer_unordered(GUARDS.len());
    let mut columns: Vec<_> = columns.try_collect().await?;
    columns.sort_by_key(|(place, _)| *place);
    let mut report = Report::new(checks.iter().map(|check| check.sentence()).collect());
    report.columns = columns.into_iter().map(|(_, column)| column).collect();
    println!("{}", report.text());
    if let Some(path) = &order.table {
        report.write_into(path, "authorization")?;
    }
    println!("{}", report.summary());
    Ok(report.is_good())
}

/// Runs all checks of one server.
async fn column(places: &Places, package: Package, checks: &[&LoginCheck]) -> Result<Column> {
    let began = Instant::now();
    let mut column = Column::new(package, places.version(package)?);
    let recipe = match places.install(package).await? {
        Installed::Ready(recipe) => own_files(recipe),
        Installed::Skipped(why) => {
            eprintln!("{}: skipped: {why}", package.folder);
            column.skipped = Some(why);
            return Ok(column);
        }
    };
    let installed = began.elapsed();
    recipe.forget()?;
    let mut process = Process::start(recipe).await?;
    for check in checks {
        column.outcomes.push(ask(package.folder, check, &mut process).await);
    }
    process.kill().await?;
    let (install, all) = (installed.as_secs_f64(), began.elapsed().as_secs_f64());
    eprintln!("{}: {install:.1} s to install, {all:.1} s in all", package.folder);
    Ok(column)
}

async fn ask(server: &str, check: &LoginCheck, process: &mut Process) -> Outcome {
    let limit = limit(server, check.name);
    judged((check.run)(LoginBench::new(process)), limit, server, &check.sentence()).await
}

/// Whether there is a check of authorization by this name.
#[cfg(test)]
pub(crate) fn is_check(name: &str) -> bool {
    LOGIN_CHECKS.iter().any(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use ridethrough_lab::rivals::pinned;

    use super::*;

    #[test]
    fn every_authorization_server_is_pinned_to_one_version() {
        let servers = concat!(env!("CARGO_MANIFEST_DIR"), "/servers");

        for guard in GUARDS {
            let path = format!("{servers}/{}/{}", guard.folder, guard.pins[0]);
            let pins = std::fs::read_to_string(path).unwrap();

            assert!(pinned(&pins, guard.name).is_some(), "{}", guard.name);
        }
    }
}
