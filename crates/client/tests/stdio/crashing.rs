//! Servers that die: which calls are in doubt, which are sent again, and how often a server is started.

use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::error::Kind;
use ridethrough::{RetryPolicy, Stderr};
use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::rig::{Rig, call_error, eventually, is_buried, tool, value};

#[tokio::test]
async fn a_server_killed_under_twenty_calls_loses_the_unsafe_ones_and_answers_the_safe_ones() {
    let rig = Rig::new(json!({ "holding_starts": 1, "silent_starts": 1 }));
    let client = rig.client();
    let unsafe_calls: Vec<_> =
        (0..10).map(|n| tool(&client, "holds", json!({ "n": n })).into_future()).collect();
    let repeatable: Vec<_> = (10..15)
        .map(|n| tool(&client, "holds", json!({ "n": n })).idempotent().into_future())
        .collect();
    let reads: Vec<_> = (0..5)
        .map(|n| client.request("resources/read", json!({ "uri": n.to_string() })).into_future())
        .collect();
    eventually("all twenty are with the server", || {
        rig.count("ran holds") == 15 && rig.count("resources/read") == 5
    })
    .await;

    kill_process(rig.pids("start")[0], Signal::KILL).unwrap();

    for error in join_all(unsafe_calls).await.into_iter().map(call_error) {
        assert_eq!(error.kind, Kind::Interrupted);
        assert!(error.may_have_run());
        assert!(error.to_string().contains("signal: 9"), "{error}");
    }
    for answer in join_all(repeatable.into_iter().chain(reads)).await {
        assert_eq!(value(answer)["start"], 2);
    }
    // Ten ran once and five twice; and each read ran twice.
    assert_eq!(rig.count("ran holds"), 20);
    assert_eq!(rig.count("resources/read"), 10);
    assert_eq!(rig.count("start"), 2);
    assert!(is_buried(rig.pids("start")[0]));
}

#[tokio::test]
async fn a_call_that_kills_the_server_is_interrupted_with_its_last_words() {
    let rig = Rig::new(json!({}));
    let client = rig.client();

    let error = call_error(tool(&client, "dies", json!({})).await);

    assert_eq!(error.kind, Kind::Interrupted);
    assert!(error.may_have_run());
    let words = "`sh` has ended, exit status: 7; its last words: panic: out of cheese";
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(value(tool(&client, "echo", json!({})).await)["start"], 2);
    assert_eq!(rig.count("ran dies"), 1);
}

#[tokio::test]
async fn last_words_are_withheld_where_that_is_asked_for() {
    let rig = Rig::new(json!({}));
    let command = rig.command().stderr(Stderr::Withheld);
    let client = ridethrough::Client::spawn(command).unwrap();

    let error = call_error(tool(&client, "dies", json!({})).await);

    assert!(error.to_string().ends_with("(`sh` has ended, exit status: 7)"), "{error}");
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let rig = Rig::new(json!({}));
    let client = rig.client();

    let error = call_error(tool(&client, "dies_within_its_answer", json!({})).await);

    assert_eq!(error.kind, Kind::Interrupted);
    assert!(error.may_have_run());
}

#[tokio::test]
async fn an_answer_written_just_before_the_end_is_taken() {
    let rig = Rig::new(json!({}));
    let client = rig.client();

    for start in 1..=3 {
        let answer = value(tool(&client, "answers_and_dies", json!({})).await);

        assert_eq!(answer["content"][0]["text"], "last");
        eventually("its end", || is_buried(rig.pids("start")[start - 1])).await;
    }
    assert_eq!(rig.count("ran answers_and_dies"), 3);
}

#[tokio::test]
async fn a_server_that_dies_twice_as_it_starts_is_started_a_third_time() {
    let rig = Rig::new(json!({ "dies_at_starts": 2 }));
    let client = rig.client();

    let answer = value(tool(&client, "echo", json!({})).await);

    assert_eq!(answer["start"], 3);
    assert_eq!(rig.count("start"), 3);
    assert_eq!(rig.count("ran echo"), 1);
}

#[tokio::test]
async fn a_server_that_always_dies_ends_the_call_with_its_patience_and_its_last_words() {
    let rig = Rig::new(json!({ "dies_at_starts": 1_000_000, "says": "no licence found" }));
    let patience = Duration::from_secs(2);
    let policy = RetryPolicy::interactive().builder().patience(patience).first_patience(patience);
    let client = rig.builder().retry_policy(policy.build().unwrap()).build().unwrap();

    let error = call_error(tool(&client, "echo", json!({})).await);

    assert_eq!(error.kind, Kind::Unreachable);
    assert!(!error.may_have_run());
    assert!(error.elapsed >= patience, "{error:?}");
    assert!(
        error.to_string().contains("exit status: 3; its last words: no licence found"),
        "{error}"
    );
    // Pauses of up to 250 ms, 125 ms on average: 16 in 2 s, and by chance some more.
    let starts = rig.count("start");
    assert!((3..=40).contains(&starts), "{starts} starts");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(rig.count("start") <= starts + 1, "it is started though nobody waits");
}

#[tokio::test]
async fn a_server_that_dies_after_each_handshake_is_not_started_for_ever_by_an_idle_client() {
    let rig = Rig::new(json!({ "dies_after_handshakes": 1_000_000 }));
    let client = rig.client();
    client.connect().await.unwrap();

    tokio::time::sleep(Duration::from_secs(10)).await;

    // The pauses of the standing stream grow: 1 s, 2 s, 4 s, 8 s, less their jitter.
    let starts = rig.count("start");
    assert!(starts <= 7, "{starts} starts");
}

#[tokio::test]
async fn a_new_server_gets_the_log_level_and_the_subscriptions_of_the_old_one() {
    let rig = Rig::new(json!({}));
    let client = rig.client();
    client.request("logging/setLevel", json!({ "level": "warning" })).await.unwrap();
    client.request("resources/subscribe", json!({ "uri": "file:///a" })).await.unwrap();

    kill_process(rig.pids("start")[0], Signal::KILL).unwrap();

    eventually("a second server that knows both", || {
        rig.count("start") == 2
            && rig.count("logging/setLevel {\"level\":\"warning\"}") == 2
            && rig.count("resources/subscribe {\"uri\":\"file:///a\"}") == 2
    })
    .await;
    assert_eq!(value(tool(&client, "echo", json!({})).await)["start"], 2);
}
