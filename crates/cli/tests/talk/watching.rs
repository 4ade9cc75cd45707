//! `watch` against a server that sends notifications, forgets its sessions and goes away.

use std::process::Stdio;
use std::time::Duration;

use ridethrough_lab::{Entry, Times, What, When};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_notifications_and_status_are_told_as_they_happen() {
    let rig = Rig::new().await;
    let mut command = rig.command(&["watch", "SERVER", "--json", "--log", "debug"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    let mut until = async |what: &str, fits: fn(&Value) -> bool| {
        loop {
            let line = timeout(Duration::from_secs(15), lines.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("not seen: {what} in {seen:#?}"));
            seen.push(line.unwrap().expect("it goes on"));
            if fits(&serde_json::from_str(&seen[seen.len() - 1]).unwrap()) {
                return;
            }
        }
    };

    until("a session", |line| line["event"] == "sessionReady").await;
    until("the status", |line| line["seen"] == "status" && line["session"] == 1).await;
    while rig.mcp.standing_streams() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    rig.mcp
        .push(json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "n1"}}))
        .await;
    until("the log", |line| line["method"] == "message" && line["params"]["data"] == "n1").await;
    rig.mcp.forget_sessions();
    rig.server.kill().await;
    rig.server.restart().await.unwrap();
    until("the end of the stream", |line| line["event"] == "listenerLost").await;
    until("the end of the session", |line| line["event"] == "sessionLost").await;
    until("a new session", |line| line["event"] == "sessionReady").await;
    child.kill().await.unwrap();

    assert!(rig.mcp.count(&When::method("logging/setLevel")) >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_reached_is_not_called_connected() {
    goes_and_comes(&Rig::new().await).await;
}

/// No stream ends when such a server dies: it was once reported as connected for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_standing_stream_is_asked_whether_it_is_there() {
    let rig = Rig::new().await;
    let is_listen = |it: &Entry| it.what == What::Listen;
    rig.mcp.rule(When::matches(is_listen), Times::Always, |ask| async move {
        ask.status(405, &[], "").await;
    });

    goes_and_comes(&rig).await;
}

async fn goes_and_comes(rig: &Rig) {
    let mut command = rig.command(&["watch", "SERVER"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut status = async |words: &str| {
        loop {
            let line = timeout(Duration::from_secs(15), lines.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("not seen: {words}")).unwrap().unwrap();
            if line.contains(&format!("status: {words}")) {
                return line;
            }
        }
    };
    status("connected").await;

    rig.server.kill().await;

    let down = status("cannot be reached").await;
    rig.server.restart().await.unwrap();
    let up = status("connected").await;
    child.kill().await.unwrap();

    assert!(down.contains("connection"), "why is told: {down}");
    // The last failure was once shown for ever.
    assert!(up.ends_with("status: connected, revision 2025-11-25"), "{up}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_ends_when_it_was_told_to() {
    let rig = Rig::new().await;

    let ran = rig.run(&["watch", "SERVER", "--for", "0.8"]).await;

    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in ["is ready, revision 2025-11-25", "status: connected, revision 2025-11-25\n"] {
        assert!(ran.out.contains(words), "{words}: {ran:?}");
    }
    assert_eq!(ran.err, "watching ridethrough-lab; Ctrl-C stops\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_ends_when_nobody_reads_it_any_more() {
    let rig = Rig::new().await;
    let mut command = rig.command(&["watch", "SERVER"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap().expect("it says something");

    drop(lines);
    let mut ended = None;
    for _ in 0..200 {
        // The command must have something to write, because only a write shows that the reader is gone.
        rig.server.kill().await;
        rig.server.restart().await.unwrap();
        ended = timeout(Duration::from_millis(100), child.wait()).await.ok();
        if ended.is_some() {
            break;
        }
    }

    assert_eq!(ended.expect("it ends within 20 s").unwrap().code(), Some(0));
}
