//! Hostile clients, with the figures of attacks that once succeeded: how long other clients wait, and what
//! the attack costs.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::rig::{Rig, has_ended};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_batches_of_60_000_ids_are_refused_and_hold_nobody_up() {
    let rig = Rig::new(json!({})).await;
    let session = rig.session("2025-03-26").await;
    let batch = batch_of(60_000);
    let mut attackers = Vec::new();
    for _ in 0..2 {
        attackers.push(rig.begin_to_post(&session, &batch).await);
    }
    let began = Instant::now();

    rig.client().call_tool("echo", json!({})).await.unwrap();

    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    for mut attacker in attackers {
        let mut status = [0; 12];
        timeout(SOON, attacker.read_exact(&mut status)).await.unwrap().unwrap();
        assert_eq!(&status, b"HTTP/1.1 413");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_it_also_while_such_batches_come() {
    let mut rig = Rig::new(json!({})).await;
    let session = rig.session("2025-03-26").await;
    let batch = batch_of(60_000);
    let mut attackers = Vec::new();
    for _ in 0..4 {
        attackers.push(rig.begin_to_post(&session, &batch).await);
    }
    // The server refuses the attackers, or is busy with them on every thread.
    for attacker in &mut attackers {
        let _ = timeout(Duration::from_secs(1), attacker.read_u8()).await;
    }
    let began = Instant::now();

    rig.signal(Signal::TERM);

    let (status, _) = rig.ended().await;
    assert_eq!(status.code(), Some(143));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_of_15_mb_of_tiny_messages_cost_a_few_times_their_size() {
    let rig = Rig::new(json!({})).await;
    let session = rig.session("2025-03-26").await;
    let tiny = r#"{"method":"a"},"#;
    let batch = format!("[{}{{\"method\":\"a\"}}]", tiny.repeat(15_000_000 / tiny.len()));
    let before = rig.most_memory();

    for _ in 0..3 {
        let mut attacker = rig.begin_to_post(&session, &batch).await;
        let mut status = [0; 12];
        timeout(SOON, attacker.read_exact(&mut status)).await.unwrap().unwrap();
        assert_eq!(&status, b"HTTP/1.1 413");
    }

    let cost = rig.most_memory() - before;
    assert!(cost < 64 << 20, "{} MiB", cost >> 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_by_the_hundred_keep_nobody_out() {
    let rig = Rig::new(json!({})).await;
    let mut silent = Vec::new();
    for _ in 0..520 {
        silent.push(TcpStream::connect(("127.0.0.1", rig.port())).await.unwrap());
    }
    let began = Instant::now();

    rig.client().call_tool("echo", json!({})).await.unwrap();

    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_answers_of_16_mib_that_are_not_read_cost_no_more_than_their_share() {
    let rig = Rig::new(json!({})).await;
    for accept in ["application/json, text/event-stream", "application/json"] {
        let session = rig.session("2025-06-18").await;
        let before = rig.most_memory();
        let mut attackers = Vec::new();
        for id in 0..40 {
            let params = json!({"name": "large", "arguments": {"bytes": 16 << 20}});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let mut attacker = rig.begin_to(accept, &session, &call.to_string()).await;
            // The head shows that the request is being answered; the rest is not read.
            if id == 0 {
                attacker.read_u8().await.unwrap();
            }
            attackers.push(attacker);
        }

        // Other clients are served meanwhile, for longer than a client that does not read can hold up a
        // server.
        let (client, began) = (rig.client(), Instant::now());
        while began.elapsed() < Duration::from_secs(12) {
            client.call_tool("echo", json!({})).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }

        let cost = rig.most_memory() - before;
        assert!(cost < 160 << 20, "{accept}: {} MiB", cost >> 20);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_after_kill_9_of_it_and_its_supervisors_at_once() {
    let rig = Rig::with(json!({"ignores_eof": true}), &[], "trap '' TERM;").await;
    rig.client().call_tool("echo", json!({})).await.unwrap();
    let (server, supervisor) = (rig.pids("start")[0], rig.supervisor());
    // Neither of them may have time to see the other end.
    rig.signal(Signal::STOP);

    rustix::process::kill_process(supervisor, Signal::KILL).unwrap();
    rig.signal(Signal::KILL);

    rig.eventually("nothing is left", || has_ended(server)).await;
}

/// Returns so many requests, each with an id of its own.
fn batch_of(count: usize) -> String {
    let all: Vec<_> =
        (0..count).map(|id| format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"m"}}"#)).collect();
    format!("[{}]", all.join(","))
}

/// A delay that a person would accept, on a machine that is busy with other things.
const SOON: Duration = Duration::from_secs(8);
