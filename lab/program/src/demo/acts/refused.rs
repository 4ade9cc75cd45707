//! A balancer restarts: connections are reset, and for a while it answers 503 to every client that comes
//! back, for the rest of an answer and for the standing stream.
//!
//! Neither says anything about the session, which some clients discard because of it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough::event::Event;
use ridethrough_lab::{Ask, Sse, Times, When};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::demo::judge::{ActVerdict, Judge, how_ended, how_often, number};
use crate::demo::line::{Diary, Tell};
use crate::demo::record::Record;
use crate::demo::scene::{Scene, wait_for};

pub(super) async fn play(tell: Tell) -> Result<Record> {
    let scene = Scene::open(tell).await?;
    let started = break_what_is_reopened(&scene);

    let events = scene.events();
    let deploy = scene.call("deploy", "deploy");
    let (deploy, lost) = tokio::join!(deploy, lose_connections(&scene, &started));
    lost?;
    wait_for(events, Duration::from_secs(20), is_stream_back).await;
    let after = scene.call("echo", "after").await;

    scene.close(vec![deploy, after]).await
}

/// Adds the rules of the fault. Returns what is notified once the call runs.
fn break_what_is_reopened(scene: &Scene) -> Arc<Notify> {
    let (asked, started) = (Arc::new(OnceLock::new()), Arc::new(Notify::new()));
    let (question, running) = (asked.clone(), started.clone());
    scene.rule(When::tool("deploy"), Times::Once, move |ask, diary| {
        run(ask, diary, question.clone(), running.clone())
    });
    scene.rule(When::resume(), Times::Exactly(REFUSED_RESUMES), |ask, diary| async move {
        diary.server("answer the resume with 503");
        ask.status(503, &[], "").await;
    });
    scene.rule(When::listen(), Times::Exactly(REFUSED_STREAMS), |ask, diary| async move {
        diary.server("answer the standing stream with 503");
        ask.status(503, &[], "").await;
    });
    scene.rule(When::resume(), Times::Always, move |ask, diary| {
        let asked = asked.get().cloned().unwrap_or_default();
        async move {
            diary.server("accept the resume, send the answer");
            answer(ask.sse().await, asked).await;
        }
    });
    started
}

/// Runs the tool, and drops the connection before the answer.
async fn run(ask: Ask, diary: Diary, asked: Arc<OnceLock<Value>>, started: Arc<Notify>) {
    ask.run();
    diary.server("run `deploy`, send an event id");
    // The rule is used once, so the cell is empty.
    let _ = asked.set(ask.id());
    let mut sse = ask.sse().await;
    sse.prime("e1").await;
    started.notify_one();
    sse.gone().await;
}

async fn lose_connections(scene: &Scene, started: &Notify) -> Result<()> {
    started.notified().await;
    sleep(Duration::from_millis(200)).await;
    scene.diary.server("reset every connection");
    scene.server.kill().await;
    scene.server.restart().await.context("the demo's server could not come back on its port")
}

async fn answer(mut sse: Sse, asked: Value) {
    let result = json!({"content": [{"type": "text", "text": "deploy"}]});
    let answer = json!({"jsonrpc": "2.0", "id": asked, "result": result});
    sse.message(Some("e2"), &answer).await;
    sse.finish().await;
}

pub(super) fn judge(record: &Record) -> ActVerdict {
    let mut judge = Judge::of(record);
    judge.answered("deploy");
    judge.answered("after");
    judge.handshakes(1);
    let (refusals, wanted) = (record.refusals, REFUSED_RESUMES + REFUSED_STREAMS);
    judge.claim(refusals == wanted, format!("{refusals} requests met a 503, not {wanted}"));
    let is_back = record.events.iter().any(is_stream_back);
    judge.claim(is_back, "the standing stream did not come back");
    judge.verdict(format!(
        "{} in spite of {refusals} times 503; ran {}; {}, standing stream {}",
        how_ended(record, "deploy"),
        how_often(record.runs_of("deploy")),
        number(record.handshakes, "session"),
        if is_back { "back" } else { "lost" },
    ))
}

const fn is_stream_back(event: &Event) -> bool {
    matches!(event, Event::ListenerBack { .. })
}

const REFUSED_RESUMES: usize = 3;
const REFUSED_STREAMS: usize = 1;
