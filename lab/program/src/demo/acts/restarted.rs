//! The server dies in the middle of a call, and is back 2 s later without its memory.
//!
//! The client cannot know whether the interrupted call took effect: it does not send it again, and says so.
//! Calls that were made meanwhile were not sent, and wait.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::join_all;
use ridethrough::error::Kind;
use ridethrough_lab::{Times, When};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::demo::judge::{ActVerdict, Judge, how_ended, how_often};
use crate::demo::line::Tell;
use crate::demo::record::{CallEnd, Record};
use crate::demo::scene::Scene;

pub(super) async fn play(tell: Tell) -> Result<Record> {
    let scene = Scene::open(tell).await?;
    let started = Arc::new(Notify::new());
    let tell_started = started.clone();
    scene.rule(When::tool("deploy"), Times::Always, move |ask, diary| {
        let started = tell_started.clone();
        async move {
            ask.run();
            diary.server("run `deploy`");
            let _open = ask.sse().await;
            started.notify_one();
            pending().await
        }
    });

    let deploy = scene.call("deploy", "deploy");
    let (deploy, waited) = tokio::join!(deploy, restart(&scene, &started));
    let mut ends = waited?;
    ends.push(deploy);

    scene.close(ends).await
}

/// Kills the server once it runs the call, and makes other calls while it is down.
async fn restart(scene: &Scene, started: &Notify) -> Result<Vec<CallEnd>> {
    started.notified().await;
    sleep(Duration::from_millis(300)).await;
    scene.diary.server("die: connections are reset, nobody listens, sessions are forgotten");
    scene.server.kill().await;
    scene.mcp.forget_sessions();
    sleep(Duration::from_millis(200)).await;
    let waiting = join_all(WAITING.iter().map(|name| scene.call("echo", name)));
    let back = async {
        sleep(OUTAGE).await;
        scene.diary.server("listen again on the same port");
        scene.server.restart().await
    };
    let (ends, back) = tokio::join!(waiting, back);
    back.context("the demo's server could not come back on its port")?;
    Ok(ends)
}

pub(super) fn judge(record: &Record) -> ActVerdict {
    let mut judge = Judge::of(record);
    judge.in_doubt("deploy", Kind::Interrupted);
    for name in WAITING {
        judge.answered(name);
        judge.within(name, OUTAGE + Duration::from_secs(10));
    }
    // One handshake before the restart, and one after it.
    judge.handshakes(2);
    judge.verdict(format!(
        "waiting calls {}; cut call {}, ran {}",
        how_ended(record, WAITING[0]),
        how_ended(record, "deploy"),
        how_often(record.runs_of("deploy")),
    ))
}

const WAITING: [&str; 3] = ["call 1", "call 2", "call 3"];
const OUTAGE: Duration = Duration::from_secs(2);
