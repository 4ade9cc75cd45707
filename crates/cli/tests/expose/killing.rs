//! However `expose` ends, no process of its servers is left.

use std::process::Stdio;

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use crate::rig::{PATIENCE, Rig, has_ended, pid};

/// The number of servers is that of `KILLS`; all are killed at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_after_kill_9_of_servers_that_ignore_everything() {
    let kills = std::env::var("KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(10);
    let behaviour = json!({"has_grandchild": true, "has_daemon": true, "ignores_eof": true});
    let mut rigs = Vec::new();
    for _ in 0..kills {
        let rig = Rig::with(behaviour.clone(), &[], "trap '' TERM;").await;
        rig.client().call_tool("echo", json!({})).await.unwrap();
        rigs.push(rig);
    }

    join_all(rigs.iter().map(async |rig| {
        let mut all = kin(rig);
        all.push(rig.supervisor());
        assert_eq!(all.len(), 4);
        assert!(!all.iter().any(|it| has_ended(*it)), "too early");
        rig.signal(Signal::KILL);
        rig.eventually("nothing is left", || all.iter().all(|it| has_ended(*it))).await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_after_kill_9_while_a_server_reads_nothing() {
    let rig = Rig::with(json!({"ignores_eof": true}), &[], "trap '' TERM;").await;
    let client = rig.client();
    let hanging = client.call_tool("hangs", json!({})).into_future();
    rig.eventually("it runs", || rig.entries("ran hangs").len() == 1).await;
    // This is more than all pipes to it hold, so its supervisor is blocked in a write.
    let long = "x".repeat(1 << 20);
    let stuck = client.call_tool("echo", json!({"long": long})).into_future();
    // Too short a wait makes this test easier to pass, and never makes it fail.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let (child, supervisor) = (rig.pids("start")[0], rig.supervisor());

    rig.signal(Signal::KILL);

    rig.eventually("nothing is left", || has_ended(child) && has_ended(supervisor)).await;
    drop((hanging, stuck));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_the_sessions_first_and_has_its_own_exit_code() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let behaviour = json!({"has_grandchild": true, "has_daemon": true});
        let mut rig = Rig::with(behaviour, &[], "").await;
        let client = rig.client();
        client.call_tool("echo", json!({})).await.unwrap();
        let all = kin(&rig);

        rig.signal(signal);
        let (status, rest) = rig.ended().await;

        assert_eq!((status.code(), &*rest), (Some(code), ""));
        assert!(all.iter().all(|it| has_ended(*it)), "something is left");
        assert_eq!(rig.entries("eof").len(), 1);
        rig.eventually("it is told", || rig.said().contains("stopped: all sessions are ended"))
            .await;
    }
}

/// Returns the server and the processes that it started.
fn kin(rig: &Rig) -> Vec<Pid> {
    ["start", "grandchild", "daemon"].iter().flat_map(|name| rig.pids(name)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_starts_it_with_nohup_has_it_still_when_the_terminal_is_closed() {
    let words = "trap '' HUP; exec \"$0\" expose --listen 127.0.0.1:0 -- sh";
    let mut expose = Command::new("sh")
        .args(["-c", words, env!("CARGO_BIN_EXE_ridethrough")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut url = String::new();
    let mut stdout = BufReader::new(expose.stdout.take().unwrap());
    timeout(PATIENCE, stdout.read_line(&mut url)).await.unwrap().unwrap();
    assert!(url.starts_with("http://"), "{url}");
    // A process that answers requests handles signals, too.
    let place = url.trim().trim_start_matches("http://").trim_end_matches("/mcp");
    let mut socket = TcpStream::connect(place).await.unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    timeout(PATIENCE, socket.read_u8()).await.unwrap().unwrap();
    let number = pid(expose.id().unwrap());

    kill_process(number, Signal::HUP).unwrap();
    kill_process(number, Signal::TERM).unwrap();

    let status = timeout(PATIENCE, expose.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(143));
}
