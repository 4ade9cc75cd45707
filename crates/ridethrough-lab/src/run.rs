//! Puts a client through scenarios.

use std::io;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream;
use tokio::time::sleep;

use crate::contestant::{Contestant, Performance};
use crate::judge::Case;
use crate::scenario::Scenario;
use crate::score::Score;
use crate::stage::{Doors, Stage};

/// Puts a client through one scenario, over sockets.
///
/// # Errors
///
/// Fails if the system gives no port for the server.
pub async fn run(scenario: &Scenario, client: &dyn Contestant) -> io::Result<Score> {
    let stage = Stage::open(scenario, Doors::Sockets(0)).await?;
    Ok(run_on(&stage, scenario, client).await)
}

/// As [`run`], on a stage that is set already.
pub async fn run_on(stage: &Stage, scenario: &Scenario, client: &dyn Contestant) -> Score {
    let (lead, limit) = (client.lead(), scenario.limit());
    let performing = client.perform(stage.url(), &scenario.client, limit + lead);
    let performance = if lead.is_zero() {
        stage.begin();
        performing.await
    } else {
        begin_after(lead, stage, performing).await
    };
    let score = Case::new(scenario, performance, stage).judge();
    stage.close().await;
    score
}

/// Lets the scenario begin when the client has started, if it has not ended by then.
async fn begin_after(
    lead: Duration,
    stage: &Stage,
    performing: BoxFuture<'_, Performance>,
) -> Performance {
    match select(performing, pin!(sleep(lead))).await {
        Either::Left((performance, _)) => performance,
        Either::Right(((), performing)) => {
            stage.begin();
            performing.await
        }
    }
}

/// Puts a client through many scenarios, so many at the same time, and tells each score as it comes.
///
/// # Errors
///
/// Fails if the system gives no port for a server.
pub async fn run_all(
    scenarios: &[&Scenario],
    client: &dyn Contestant,
    at_once: usize,
    mut tell: impl FnMut(&Score),
) -> io::Result<Vec<Score>> {
    let running = scenarios
        .iter()
        .enumerate()
        .map(|(place, scenario)| async move { (place, run(scenario, client).await) });
    let mut running = stream::iter(running).buffer_unordered(at_once.max(1));
    let mut scores = Vec::with_capacity(scenarios.len());
    while let Some((place, score)) = running.next().await {
        let score = score?;
        tell(&score);
        scores.push((place, score));
    }
    scores.sort_by_key(|(place, _)| *place);
    Ok(scores.into_iter().map(|(_, score)| score).collect())
}
