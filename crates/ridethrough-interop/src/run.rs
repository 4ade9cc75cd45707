//! One run: install, start, ask, tell.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::time::{Instant, timeout};

use crate::bench::Bench;
use crate::catalog::Server;
use crate::checks::{CHECKS, Check};
use crate::install::{Installed, Places};
use crate::limits::{Limit, limit};
use crate::process::Process;
use crate::report::{Column, Outcome, Report};

/// What a person asked for.
pub(crate) struct Order {
    pub(crate) servers: Vec<&'static Server>,
    pub(crate) check: String,
    pub(crate) table: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
}

/// Runs it all and says whether everything is as documented.
pub(crate) async fn run(order: Order) -> Result<bool> {
    let places = Places::find()?;
    let checks: Vec<_> =
        CHECKS.iter().filter(|check| check.sentence().contains(&order.check)).collect();
    let mut report = Report::new(checks.iter().map(|check| check.sentence()).collect());
    let columns = order.servers.iter().map(|server| column(&places, server, &checks));
    report.columns = stream::iter(columns).buffered(AT_ONCE).try_collect().await?;
    println!("{}", report.text());
    if let Some(path) = &order.json {
        std::fs::write(path, report.json())?;
    }
    if let Some(path) = &order.table {
        report.write_into(path)?;
    }
    println!("{}", report.summary());
    Ok(report.is_good())
}

/// All answers of one server.
async fn column(places: &Places, server: &Server, checks: &[&Check]) -> Result<Column> {
    let began = Instant::now();
    let version = places.version(server)?;
    let mut column = Column::new(server, version);
    let recipe = match places.install(server).await? {
        Installed::Ready(recipe) => recipe,
        Installed::Skipped(why) => {
            eprintln!("{}: skipped: {why}", server.name);
            column.skipped = Some(why);
            return Ok(column);
        }
    };
    let installed = began.elapsed();
    recipe.forget()?;
    let mut shared = Process::start(recipe.clone()).await?;
    let bench = Bench::new(server, recipe, &shared);
    for check in checks {
        column.outcomes.push(ask(server, check, bench.clone()).await);
    }
    shared.kill().await?;
    let (install, all) = (installed.as_secs_f64(), began.elapsed().as_secs_f64());
    eprintln!("{}: {install:.1} s to install, {all:.1} s in all", server.name);
    Ok(column)
}

async fn ask(server: &Server, check: &Check, bench: Bench) -> Outcome {
    let began = Instant::now();
    let limit = limit(server.name, check.name());
    if let Some(Limit { reason, is_by_chance: true, .. }) = limit {
        return Outcome::Limit(reason);
    }
    let verdict = timeout(CHECK_LIMIT, (check.run)(bench)).await;
    let verdict = verdict.unwrap_or_else(|_| Err("it did not end within 60 s".to_owned()));
    let outcome = match (verdict, limit) {
        (Ok(()), None) => Outcome::Passed,
        (Ok(()), Some(limit)) => Outcome::LimitGone(limit.reason),
        (Err(_), Some(limit)) => Outcome::Limit(limit.reason),
        (Err(why), None) => Outcome::Failed(why),
    };
    let elapsed = began.elapsed();
    if elapsed > Duration::from_secs(2) || outcome.is_bad() {
        let seconds = elapsed.as_secs_f64();
        eprintln!("{}: {}: {outcome} ({seconds:.1} s)", server.name, check.sentence());
    }
    outcome
}

/// Servers at once: most of a run is waiting, and the starts of Python are not.
const AT_ONCE: usize = 3;
const CHECK_LIMIT: Duration = Duration::from_secs(60);
