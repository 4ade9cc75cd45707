//! Servers that break the rules: they send too much, are too slow, or do not read.

use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough::event::{Answer, Delivered};
use ridethrough::{Client, Command, Json};
use serde_json::json;
use tokio::time::timeout;

use crate::rig::{Rig, call_error, eventually, is_buried, tool, value};

#[tokio::test]
async fn an_answer_beyond_the_limit_ends_its_call_alone() {
    let rig = Rig::new(json!({ "holding_starts": 1 }));
    let client = rig.builder().message_limit(64 * 1024).build().unwrap();
    let other = tool(&client, "asks", json!({})).into_future();
    let mut inbox = client.inbox();
    let Some(Delivered::Question { question, .. }) = inbox.next().await else {
        panic!("no question came");
    };

    let error = call_error(tool(&client, "big", json!({ "bytes": 128 * 1024 })).await);

    assert_eq!(error.kind, Kind::TooLarge);
    assert!(error.may_have_run());
    assert!(error.to_string().contains("`sh` wrote a line of more than 64 KiB"), "{error}");
    inbox.answer(question, Answer::Result(Json::empty_object()));
    assert_eq!(value(other.await), json!({}));
    assert_eq!(rig.count("start"), 1);
}

#[tokio::test]
async fn a_question_beyond_the_limit_ends_the_server_because_nobody_can_answer_it() {
    let rig = Rig::new(json!({ "holding_starts": 1 }));
    let client = rig.builder().message_limit(64 * 1024).build().unwrap();
    let other = tool(&client, "holds", json!({})).into_future();
    eventually("a call runs", || rig.count("ran holds") == 1).await;

    let error = call_error(tool(&client, "asks_much", json!({})).await);

    for error in [error, call_error(other.await)] {
        assert_eq!(error.kind, Kind::TooLarge);
        assert!(error.may_have_run());
    }
    assert_eq!(value(tool(&client, "echo", json!({})).await)["start"], 2);
}

#[tokio::test]
async fn a_server_that_floods_us_with_one_endless_line_is_ended() {
    let flood = Command::new("sh").arg("-c").arg("cat /dev/zero");
    let client = Client::spawn(flood).unwrap();

    let error = call_error(tool(&client, "echo", json!({})).await);

    assert_eq!(error.kind, Kind::TooLarge);
    assert!(!error.may_have_run(), "{error}");
}

#[tokio::test]
async fn a_flood_of_notifications_holds_up_no_other_call() {
    let rig = Rig::new(json!({}));
    let client = rig.client();
    let flood = tool(&client, "floods", json!({})).into_future();
    eventually("the flood begins", || rig.count("ran floods") == 1).await;

    let echo = value(tool(&client, "echo", json!({})).await);

    assert_eq!(echo["start"], 1);
    assert_eq!(value(flood.await)["content"][0]["text"], "wet");
}

#[tokio::test]
async fn a_server_that_never_reads_holds_up_no_deadline_and_no_cancel() {
    let rig = Rig::new(json!({ "is_deaf": true }));
    let client = rig.client();
    client.connect().await.unwrap();
    // This is more than a pipe holds.
    let long = "x".repeat(1 << 20);
    let call = |seconds| {
        tool(&client, "echo", json!({ "long": long })).timeout(Duration::from_secs(seconds))
    };
    let stuck = call(600).answer();
    let waiting = call(600).answer();

    let error = call_error(call(1).await);

    assert_eq!(error.kind, Kind::DeadlinePassed);
    drop((stuck, waiting));
    assert_eq!(client.status().await.unwrap().calls, 0);
    timeout(Duration::from_secs(8), client.close()).await.expect("close takes at most 5 s");
    eventually("nothing is left", || is_buried(rig.pids("start")[0])).await;
}

#[tokio::test]
async fn a_server_that_closes_its_stdout_and_lives_on_is_ended() {
    let command = Command::new("sh").arg("-c").arg("exec >&-; while :; do sleep 1; done");
    let policy = ridethrough::RetryPolicy::never();
    let client = ridethrough::ClientBuilder::spawn(command).retry_policy(policy).build().unwrap();

    let error = call_error(tool(&client, "echo", json!({})).await);

    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert!(error.to_string().contains("signal: 9"), "{error}");
}
