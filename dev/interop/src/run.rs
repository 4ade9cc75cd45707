//! One run: install servers, start them, run the checks, report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use futures_util::TryFutureExt;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use ridethrough::Era;
use ridethrough_testkit::place::{beside, there};
use tokio::time::{Instant, timeout};

use crate::bench::Bench;
use crate::catalog::{Asked, Server, ShortRun};
use crate::checks::{CHECKS, Check};
use crate::install::{Installed, Places, host};
use crate::limits::{Limit, NO_HOST, NOT_STATELESS, limit};
use crate::partner::Verdict;
use crate::process::Process;
use crate::report::{Column, Outcome, Report};

/// The settings of a run.
pub(crate) struct RunOrder {
    pub(crate) servers: Vec<&'static Server>,
    /// Whether some servers are asked less than others.
    pub(crate) is_short: bool,
    pub(crate) check: String,
    /// The program `ridethrough`.
    pub(crate) bridge: Option<PathBuf>,
    pub(crate) table: Option<PathBuf>,
    /// The file that gets the words of lost sessions.
    pub(crate) sessions: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
}

/// Carries out a run, and returns whether everything is as documented.
pub(crate) async fn run(order: RunOrder) -> Result<bool> {
    let places = Places::find()?;
    let checks: Vec<_> =
        CHECKS.iter().filter(|check| check.sentence().contains(&order.check)).collect();
    let mut report = Report::new(checks.iter().map(|check| check.sentence()).collect());
    let needs_bridge = checks.iter().any(|check| check.is_of_a_host())
        && order.servers.iter().any(|server| server.host.is_some());
    let bridge = if needs_bridge { Some(bridge(order.bridge)?) } else { None };
    let bridge = bridge.as_deref();
    let columns = order.servers.iter().enumerate().map(|(place, server)| {
        let column = column(&places, server, &checks, bridge, order.is_short);
        column.map_ok(move |column| (place, column))
    });
    // In any order: a slow server must not delay the next one.
    let columns = stream::iter(columns).buffer_unordered(AT_ONCE);
    let mut columns: Vec<_> = columns.try_collect().await?;
    columns.sort_by_key(|(place, _)| *place);
    report.columns = columns.into_iter().map(|(_, column)| column).collect();
    println!("{}", report.text());
    if let Some(path) = &order.json {
        std::fs::write(path, report.json())?;
    }
    if let Some(path) = &order.table {
        report.write_into(path, "interop")?;
    }
    if let Some(path) = &order.sessions {
        report.write_sessions_into(path)?;
    }
    println!("{}", report.summary());
    Ok(report.is_good())
}

/// Runs all checks of one server.
async fn column(
    places: &Places,
    server: &Server,
    checks: &[&Check],
    bridge: Option<&Path>,
    is_short: bool,
) -> Result<Column> {
    let began = Instant::now();
    let version = places.version(server.package())?;
    let mut column = Column::new(server.package(), version);
    let recipe = match places.install(server.package()).await? {
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
    let host = bridge.and_then(|bridge| host(server, &recipe, bridge));
    let bench = Bench::new(server, recipe, &shared, host);
    for check in checks {
        let is_asked = is_asked(server, check, is_short);
        let outcome =
            if is_asked { ask(server, check, bench.clone()).await } else { Outcome::NotAsked };
        column.outcomes.push(outcome);
    }
    column.said = bench.said();
    shared.kill().await?;
    let (install, all) = (installed.as_secs_f64(), began.elapsed().as_secs_f64());
    eprintln!("{}: {install:.1} s to install, {all:.1} s in all", server.name);
    Ok(column)
}

/// Whether a server is asked this check.
fn is_asked(server: &Server, check: &Check, is_short: bool) -> bool {
    let is_for_it = server.asked == Asked::Everything || check.is_of_sessions();
    let is_short_enough = match server.short_run {
        ShortRun::All if check.is_of_a_host() && check.is_stateless() => false,
        ShortRun::All => !check.is_long,
        ShortRun::None => false,
        ShortRun::Stateless => check.is_stateless(),
    };
    is_for_it && (!is_short || is_short_enough)
}

/// Returns the program whose bridge hosts start: the one that was named, or the one beside this program.
pub(crate) fn bridge(named: Option<PathBuf>) -> Result<PathBuf> {
    named.map_or_else(|| beside("ridethrough"), |it| there(&it))
}

async fn ask(server: &Server, check: &Check, bench: Bench) -> Outcome {
    if check.is_of_a_host() && server.host.is_none() {
        return Outcome::Limit(NO_HOST);
    }
    if check.is_stateless() && server.newest == Era::Legacy {
        return Outcome::Limit(NOT_STATELESS);
    }
    let limit = limit(server.name, check.name());
    if let Some(Limit { reason, is_asked: false, .. }) = limit {
        return Outcome::Limit(reason);
    }
    judged((check.run)(bench), limit, server.name, &check.sentence()).await
}

/// Runs a check, and returns what came of it. A slow one and a bad one are told at once.
pub(crate) async fn judged(
    run: impl Future<Output = Verdict>,
    limit: Option<&Limit>,
    server: &str,
    check: &str,
) -> Outcome {
    let began = Instant::now();
    let verdict = timeout(CHECK_LIMIT, run).await;
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
        eprintln!("{server}: {check}: {outcome} ({seconds:.1} s)");
    }
    outcome
}

/// How many servers run at once: most of a run is waiting, but the starts of Python are not.
const AT_ONCE: usize = 3;
const CHECK_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::SERVERS;

    #[test]
    fn a_short_run_asks_each_sdk_about_one_way_of_losing_a_session() {
        for server in SERVERS.iter().filter(|it| it.short_run == ShortRun::All) {
            let asked = |is_short| {
                let sessions = CHECKS.iter().filter(|check| check.is_of_sessions());
                sessions.filter(|check| is_asked(server, check, is_short)).count()
            };

            assert_eq!(asked(true), 1, "{}", server.name);
            assert_eq!(asked(false), 9, "{}", server.name);
        }
    }

    #[test]
    fn a_short_run_has_hosts_of_the_stateless_era_at_one_server() {
        let of_hosts: Vec<_> =
            CHECKS.iter().filter(|it| it.is_of_a_host() && it.is_stateless()).collect();

        let asked = SERVERS
            .iter()
            .filter(|server| of_hosts.iter().any(|check| is_asked(server, check, true)));

        assert_eq!(asked.map(|server| server.name).collect::<Vec<_>>(), ["typescript-split"]);
    }

    #[test]
    fn a_server_that_only_replays_lost_sessions_is_asked_nothing_else() {
        let replay = SERVERS.iter().find(|server| server.asked == Asked::Sessions).unwrap();

        let asked: Vec<_> = CHECKS.iter().filter(|check| is_asked(replay, check, false)).collect();

        assert!(!asked.is_empty() && asked.iter().all(|check| check.is_of_sessions()));
    }
}
