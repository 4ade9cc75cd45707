//! A server that accepts every resume and drops it at once.
//!
//! A client that resets its counter with each accepted connection asks for ever; a client that counts by
//! progress ends.

use std::time::Duration;

use anyhow::Result;
use ridethrough::error::Kind;
use ridethrough_lab::{Times, When};
use tokio::time::sleep;

use crate::demo::judge::{ActVerdict, Judge, how_ended, how_often, number};
use crate::demo::line::Tell;
use crate::demo::record::Record;
use crate::demo::scene::Scene;

pub(super) async fn play(tell: Tell) -> Result<Record> {
    let scene = Scene::open(tell).await?;
    scene.rule(When::tool("deploy"), Times::Always, |ask, diary| async move {
        ask.run();
        diary.server("run `deploy`, send an event id, end the stream without the answer");
        let mut sse = ask.sse().await;
        sse.prime("e1").await;
        sleep(Duration::from_millis(50)).await;
        sse.finish().await;
    });
    scene.rule(When::resume(), Times::Always, |ask, diary| async move {
        diary.server("accept the resume, drop it");
        ask.sse().await.finish().await;
    });

    let deploy = scene.call("deploy", "deploy").await;
    let after = scene.call("echo", "after").await;

    scene.close(vec![deploy, after]).await
}

pub(super) fn judge(record: &Record) -> ActVerdict {
    let mut judge = Judge::of(record);
    judge.in_doubt("deploy", Kind::Exhausted);
    judge.within("deploy", Duration::from_secs(30));
    let resumes = record.resumes;
    judge.claim((1..=MOST).contains(&resumes), format!("{resumes} resumes, not 1 to {MOST}"));
    judge.answered("after");
    judge.handshakes(1);
    judge.verdict(format!(
        "{}, then {}; ran {}; next call {}",
        number(resumes, "resume"),
        how_ended(record, "deploy"),
        how_often(record.runs_of("deploy")),
        how_ended(record, "after"),
    ))
}

/// The most resumes. The client's default is 8.
const MOST: usize = 10;
