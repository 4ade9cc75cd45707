//! The bridge in every scenario, with a host that recovers from nothing: a host behind the bridge rides
//! through the faults that our client rides through.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough_bridge::Bridge;
use ridethrough_lab::adapter::Line;
use ridethrough_lab::contestant::Inside;
use ridethrough_lab::run::run_on;
use ridethrough_lab::scenario::{Scenario, Scenarios};
use ridethrough_lab::score::{Score, Verdict};
use ridethrough_lab::stage::{Stage, StageTransport};
use tokio::sync::mpsc::UnboundedSender;

use super::host::Pipes;
use super::player::play;
use crate::lab::pipes::client_on;
use crate::lab::verdicts::{AsBridge, told};

#[tokio::test(start_paused = true)]
async fn the_bridge_has_the_verdicts_of_the_client_in_it() {
    let mut missed = String::new();
    // A bridge works in the background, where no login is begun.
    for scenario in Scenarios::ours().unwrap().all().iter().filter(|it| !it.asks_for_login()) {
        let score = put_through(scenario).await;
        let is_for_hosts = !DEADLINES.contains(&scenario.id.as_str());
        if score.verdict != Verdict::Pass && is_for_hosts {
            missed += &told(&score);
        }
    }

    assert!(missed.is_empty(), "{missed}");
}

/// Scenarios about a deadline that a caller sets. A host cannot send one, so the bridge cannot know it.
const DEADLINES: [&str; 1] = ["F8"];

async fn put_through(scenario: &Scenario) -> Score {
    let stage = Arc::new(Stage::open(scenario, StageTransport::Pipes).await.unwrap());
    let at = stage.clone();
    let bridged = Inside(move |_url, script, said: UnboundedSender<String>| {
        let stage = at.clone();
        Box::pin(async move {
            let tell = |line: Line| {
                let text = serde_json::to_string(&line)?;
                said.send(text).map_err(std::io::Error::other)
            };
            play(|token| Ok(bridge(&stage, token)), script, tell).await.unwrap();
        }) as BoxFuture<'static, ()>
    });
    run_on(&stage, scenario, &AsBridge(bridged)).await
}

/// Returns a bridge to the servers of a scenario, over pipes.
fn bridge(stage: &Arc<Stage>, token: Option<String>) -> Pipes {
    let mut client = client_on(stage);
    if let Some(token) = token {
        client = client.credentials(ridethrough::credentials::StaticToken::new(token).unwrap());
    }
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(Bridge::new(client.build().unwrap()).run(reader, writer, std::future::pending()));
    let (reader, writer) = tokio::io::split(ours);
    Pipes { reader: Box::new(reader), writer: Box::new(writer) }
}
