//! The bridge in every scenario, with a host that recovers from nothing: a host behind the bridge rides
//! through the faults that our client rides through.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough_bridge::Bridge;
use ridethrough_lab::adapter::{Answer, Done, Line};
use ridethrough_lab::contestant::Inside;
use ridethrough_lab::run::run_on;
use ridethrough_lab::scenario::{Scenario, Scenarios};
use ridethrough_lab::score::{Score, Verdict};
use ridethrough_lab::stage::{Stage, StageTransport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::UnboundedSender;

use super::host::Pipes;
use super::player::play;
use crate::pipes::client_on;
use crate::verdicts::{AsBridge, told};

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

#[tokio::test(start_paused = true)]
async fn a_doubt_that_is_told_as_a_result_is_a_failure_with_its_text_and_the_words_of_the_server() {
    let done = called(json!({
        "content": [{"type": "text", "text": "The tool may have run."}],
        "isError": true,
        "_meta": {"ridethrough/doubt": {"mayHaveRun": true, "status": 502, "said": "Bad Gateway"}},
    }))
    .await;

    assert!(!done.ok && done.result.is_none(), "{done:?}");
    let error = done.error.unwrap();
    for words in ["The tool may have run.", "502", "Bad Gateway"] {
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_failed_has_answered() {
    let content = json!([{"type": "text", "text": "no such city"}]);
    let done = called(json!({"content": content, "isError": true, "_meta": {"other": 1}})).await;

    assert!(done.ok && done.error.is_none(), "{done:?}");
}

/// Plays a call on a server of lines that answers it with this result.
async fn called(result: Value) -> Done<Answer> {
    let begin = |_| {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let result = result.clone();
        tokio::spawn(async move {
            let (reader, mut writer) = tokio::io::split(theirs);
            let mut lines = BufReader::new(reader).lines();
            while let Some(line) = lines.next_line().await.unwrap() {
                let asked: Value = serde_json::from_str(&line).unwrap();
                if let Some(id) = asked.get("id") {
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                    writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
                }
            }
        });
        let (reader, writer) = tokio::io::split(ours);
        Ok(Pipes { reader: Box::new(reader), writer: Box::new(writer) })
    };
    let script = json!([{"op": "initialize"}, {"op": "call", "tool": "add"}]);
    let mut said = Vec::new();
    let tell = |line: Line| {
        said.push(line.done);
        Ok(())
    };
    play(begin, serde_json::from_value(script).unwrap(), tell).await.unwrap();
    said.pop().unwrap()
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
