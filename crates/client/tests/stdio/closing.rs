//! The end of a client ends its server, and everything that the server started.

use std::time::{Duration, Instant};

use ridethrough::Client;
use ridethrough::error::Kind;
use serde_json::json;

use crate::rig::{Rig, call_error, eventually, has_ended, is_buried, tool};

#[tokio::test]
async fn closing_closes_the_servers_stdin_and_waits_for_its_end() {
    let rig = Rig::new(json!({}));
    let client = rig.client();
    tool(&client, "echo", json!({})).await.unwrap();

    client.close().await;

    assert!(is_buried(rig.pids("start")[0]));
    assert_eq!(rig.count("eof"), 1);
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_stdin_is_asked_to_end_after_2_s() {
    let rig = Rig::new(json!({ "ignores_eof": true }));
    let client = rig.client();
    tool(&client, "echo", json!({})).await.unwrap();
    let began = Instant::now();

    client.close().await;

    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(is_buried(rig.pids("start")[0]));
    assert_eq!(rig.count("eof"), 1);
}

#[tokio::test]
async fn a_server_that_ignores_everything_is_killed_within_the_5_s_of_closing() {
    let rig = Rig::new(json!({ "ignores_eof": true }));
    let client = Client::spawn(rig.command_after("trap '' TERM;")).unwrap();
    tool(&client, "echo", json!({})).await.unwrap();
    let began = Instant::now();

    client.close().await;

    assert!(began.elapsed() >= Duration::from_millis(3500), "{:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(is_buried(rig.pids("start")[0]));
}

#[tokio::test]
async fn nothing_is_left_after_the_last_client_is_dropped() {
    let rig = Rig::new(json!({ "has_grandchild": true, "ignores_eof": true, "holding_starts": 1 }));
    let client = Client::spawn(rig.command_after("trap '' TERM;")).unwrap();
    let other = client.clone();
    let call = tool(&client, "holds", json!({})).answer();
    eventually("the call runs", || rig.count("ran holds") == 1).await;
    let (child, grandchild) = (rig.pids("start")[0], rig.pids("grandchild")[0]);
    assert!(!has_ended(child) && !has_ended(grandchild));

    drop((client, call));
    assert!(!has_ended(child), "a client is still there");
    drop(other);

    eventually("the child is gone", || is_buried(child)).await;
    eventually("the grandchild is gone", || has_ended(grandchild)).await;
}

#[test]
fn nothing_is_left_after_the_runtime_is_gone() {
    let rig = Rig::new(json!({ "has_grandchild": true, "ignores_eof": true }));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(async {
        let client = rig.client();
        tool(&client, "echo", json!({})).await.unwrap();
        client
    });

    drop(runtime);

    let began = Instant::now();
    while !(is_buried(rig.pids("start")[0]) && has_ended(rig.pids("grandchild")[0])) {
        assert!(began.elapsed() < Duration::from_secs(20), "something is left");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(client);
}

#[tokio::test]
async fn a_grandchild_that_outlives_the_server_is_killed_with_its_group() {
    let rig = Rig::new(json!({ "has_grandchild": true }));
    let client = rig.client();

    let error = call_error(tool(&client, "dies", json!({})).await);

    assert_eq!(error.kind, Kind::Interrupted);
    eventually("the grandchild is gone", || has_ended(rig.pids("grandchild")[0])).await;
}

#[tokio::test]
async fn a_client_that_is_closed_while_its_server_starts_leaves_nothing() {
    let rig = Rig::new(json!({ "never_greets": true, "ignores_eof": true }));
    let client = rig.client();
    let call = tool(&client, "echo", json!({})).into_future();
    eventually("the handshake was asked for", || rig.count("ignored initialize") == 1).await;

    client.close().await;

    assert_eq!(call_error(call.await).kind, Kind::Closed);
    eventually("nothing is left", || is_buried(rig.pids("start")[0])).await;
}
