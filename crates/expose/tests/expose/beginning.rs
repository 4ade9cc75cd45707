//! The beginning of a session, how many there may be, and how they end.

use std::time::Duration;

use http::Method;
use http::header::ACCEPT;
use ridethrough_expose::Settings;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::rig::{Rig, Stage, call, doubt_in, initialize, post, request};

#[tokio::test(start_paused = true)]
async fn every_session_has_an_id_and_a_child_of_its_own() {
    let mut rig = Rig::new();

    let (one, mut first) = rig.begin().await;
    let (two, mut second) = rig.begin().await;
    rig.post(&one, json!({"jsonrpc": "2.0", "method": "notifications/a"})).await;
    rig.post(&two, json!({"jsonrpc": "2.0", "method": "notifications/b"})).await;

    assert_ne!(one, two);
    assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric()) && one.len() == 32, "{one}");
    assert_eq!(first.hear().await["method"], "notifications/a");
    assert_eq!(second.hear().await["method"], "notifications/b");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_begin_has_no_session_and_is_ended() {
    let mut rig = Rig::new();
    let asked = rig.begin_to_greet();
    let mut child = rig.child().await;
    child.hear().await;
    child
        .say(json!({"jsonrpc": "2.0", "id": "init", "error": {"code": -32602, "message": "no"}}))
        .await;

    let mut answer = asked.await.unwrap();

    assert_eq!((answer.status.as_u16(), answer.header("mcp-session-id")), (200, None));
    assert_eq!(answer.event().await.unwrap().json()["error"]["message"], "no");
    child.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_gets_a_stream_after_15_s_and_its_answer_on_it() {
    let mut rig = Rig::new();
    let began = Instant::now();
    let asked = rig.begin_to_greet();
    let mut child = rig.child().await;

    let mut answer = asked.await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 15);
    assert!(answer.header("mcp-session-id").is_some());
    child.greet("2025-11-25").await;

    assert_eq!(answer.event().await.unwrap().json()["result"]["serverInfo"]["name"], "puppet");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_before_it_has_its_session_leaves_no_child() {
    let mut rig = Rig::new();
    let asked = rig.begin_to_greet();
    let child = rig.child().await;

    let began = Instant::now();
    asked.abort();

    child.leave().await;
    assert_eq!(began.elapsed().as_secs(), 0, "it was left until it was idle");
}

#[tokio::test(start_paused = true)]
async fn who_takes_only_json_gets_the_answer_alone() {
    let mut rig = Rig::new();
    let mut begins = post("", &initialize("2025-11-25").to_string());
    begins.headers_mut().insert(ACCEPT, "application/json".parse().unwrap());
    let asked = rig.begin_to_send(begins);
    let _child = rig.child().await.greet_and_stay("2025-11-25").await;

    let mut answer = asked.await.unwrap();

    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("mcp-session-id").is_some());
    assert_eq!(answer.json().await["result"]["serverInfo"]["name"], "puppet");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_most_sessions_one_is_asked_to_come_again_until_a_child_is_gone() {
    let mut rig = Rig::with(Settings::default().sessions(1), Stage::default());
    let (session, child) = rig.begin().await;

    let mut refused = rig.post("", initialize("2025-11-25")).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("5")));
    let message = refused.json().await["error"]["message"].to_string();
    assert!(message.contains("all 1 sessions are taken; nothing was run"), "{message}");

    rig.send(request(Method::DELETE, &session, "")).await;
    assert_eq!(rig.post("", initialize("2025-11-25")).await.status, 503, "the child lives");
    child.leave().await;
    sleep(Duration::from_millis(1)).await;
    rig.begin().await;
    assert_eq!(rig.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn deleting_a_session_closes_its_childs_stdin_and_answers_its_calls() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut pending = rig.post(&session, call(7)).await;
    child.hear().await;

    let deleted = rig.send(request(Method::DELETE, &session, "")).await;

    assert_eq!(deleted.status, 204);
    let answer = pending.event().await.unwrap().json();
    assert_eq!(answer["id"], 7);
    assert_eq!(*doubt_in(&answer), json!({"kind": "sessionEnded", "mayHaveRun": true}));
    child.leave().await;
    assert_eq!(rig.post(&session, call(8)).await.status, 404);
    assert_eq!(rig.news(), ["session 1 began", "session 1 ended: its client ended it"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_ignores_the_end_of_its_stdin_is_killed_after_10_s() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let began = Instant::now();

    rig.send(request(Method::DELETE, &session, "")).await;
    child.killed().await;

    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_ended_and_one_with_an_open_stream_is_not() {
    let idle = Duration::from_secs(100);
    let mut rig = Rig::with(Settings::default().idle(idle), Stage::default());
    let (one, child) = rig.begin().await;
    let (two, _second) = rig.begin().await;
    let standing = rig.listen(&two, None).await;
    let began = Instant::now();
    sleep(Duration::from_secs(60)).await;
    rig.post(&one, json!({"jsonrpc": "2.0", "method": "notifications/a"})).await;

    child.leave().await;

    assert_eq!(began.elapsed().as_secs(), 160);
    sleep(Duration::from_secs(1000)).await;
    assert_eq!(rig.post(&two, json!({"jsonrpc": "2.0", "method": "x"})).await.status, 202);
    drop(standing);
    sleep(Duration::from_secs(110)).await;
    assert_eq!(rig.post(&two, json!({"jsonrpc": "2.0", "method": "x"})).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_child_and_lets_nobody_in() {
    let mut rig = Rig::new();
    let ((_, one), (_, two)) = (rig.begin().await, rig.begin().await);
    let exposed = rig.exposed.clone();

    let closed = tokio::spawn(async move { exposed.close().await });
    one.leave().await;
    assert!(!closed.is_finished());
    two.leave().await;
    closed.await.unwrap();

    assert_eq!(rig.post("", initialize("2025-11-25")).await.status, 503);
    assert_eq!(rig.starts(), 2);
}

/// Clients of the TypeScript SDK leave without `DELETE`.
#[tokio::test(start_paused = true)]
async fn a_session_that_is_unused_for_longest_makes_room_for_the_next() {
    let mut rig = Rig::with(Settings::default().sessions(3), Stage::default());
    let (oldest, mut busy) = rig.begin().await;
    let pending = rig.post(&oldest, call(1)).await;
    busy.hear().await;
    drop(pending);
    let (left, child) = rig.begin().await;
    sleep(Duration::from_secs(1)).await;
    let (newer, _newer) = rig.begin().await;
    let farewell = tokio::spawn(child.leave());

    sleep(Duration::from_secs(8)).await;
    assert_eq!(rig.post("", initialize("2025-11-25")).await.status, 503, "none is left for long");
    sleep(Duration::from_secs(2)).await;
    let (next, _next) = rig.begin().await;

    farewell.await.unwrap();
    let mut gone = rig.post(&left, call(2)).await;
    assert_eq!(gone.status, 404);
    let message = gone.json().await["error"]["message"].to_string();
    assert!(message.contains("another client needed its place"), "{message}");
    for session in [oldest, newer, next] {
        let told = rig.post(&session, json!({"jsonrpc": "2.0", "method": "x"})).await;
        assert_eq!(told.status, 202);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_with_an_open_stream_makes_room_for_nobody() {
    let mut rig = Rig::with(Settings::default().sessions(1), Stage::default());
    let (session, _child) = rig.begin().await;
    let _standing = rig.listen(&session, None).await;
    sleep(Duration::from_secs(1000)).await;

    assert_eq!(rig.post("", initialize("2025-11-25")).await.status, 503);
    assert_eq!(rig.post(&session, json!({"jsonrpc": "2.0", "method": "x"})).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_place_whose_child_does_not_leave_is_not_waited_for_for_long() {
    let mut rig = Rig::with(Settings::default().sessions(1), Stage::default());
    let (_, _child) = rig.begin().await;
    sleep(Duration::from_secs(20)).await;
    let began = Instant::now();

    assert_eq!(rig.post("", initialize("2025-11-25")).await.status, 503);

    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_greet_who_takes_only_json_is_504_and_is_ended() {
    let mut rig = Rig::new();
    let mut begins = post("", &initialize("2025-11-25").to_string());
    begins.headers_mut().insert(ACCEPT, "application/json".parse().unwrap());
    let began = Instant::now();
    let asked = rig.begin_to_send(begins);
    let child = rig.child().await;

    let mut answer = asked.await.unwrap();

    assert_eq!((answer.status.as_u16(), answer.header("mcp-session-id")), (504, None));
    let said = answer.json().await;
    assert_eq!(said["id"], "init");
    let message = said["error"]["message"].to_string();
    assert!(message.contains("`puppet` has not answered `initialize` within 120 s"), "{message}");
    child.leave().await;
    assert_eq!(began.elapsed().as_secs(), 120);
}

#[tokio::test(start_paused = true)]
async fn the_revision_is_the_one_agreed_on_also_if_the_answer_is_late() {
    let mut rig = Rig::new();
    let asked = rig.begin_to_greet();
    let mut child = rig.child().await;
    let mut answer = asked.await.unwrap();
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    child.greet("2025-03-26").await;
    answer.event().await.unwrap();

    let mut batch = rig.post(&session, json!([call(1)])).await;
    child.answer(1, json!({})).await;

    assert_eq!(batch.status, 200);
    assert!(batch.any_event().await.unwrap().data.contains("result"), "an event without data");
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_keeps_its_session_for_a_day_and_its_answer_for_as_long_as_any() {
    let idle = Duration::from_secs(100);
    let mut rig = Rig::with(Settings::default().idle(idle), Stage::default());
    let (one, mut child) = rig.begin().await;
    let (two, mut other) = rig.begin().await;
    let mut cut = rig.post(&one, call(1)).await;
    let priming = cut.any_event().await.unwrap();
    drop((cut, rig.post(&two, call(1)).await));
    child.hear().await;
    other.hear().await;
    sleep(Duration::from_secs(20 * 3600)).await;
    child.answer(1, json!({"done": true})).await;
    sleep(Duration::from_secs(90)).await;

    let mut resumed = rig.listen(&one, Some(&priming.id)).await;
    assert_eq!(resumed.rest().await[0]["result"], json!({"done": true}));
    drop(resumed);
    sleep(Duration::from_secs(210)).await;
    assert_eq!(rig.post(&one, call(2)).await.status, 404);
    assert_eq!(rig.post(&two, json!({"jsonrpc": "2.0", "method": "x"})).await.status, 202);
    sleep(Duration::from_secs(25 * 3600)).await;
    assert_eq!(rig.post(&two, call(2)).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_busy_writing_still_hears_that_it_shall_end() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let began = Instant::now();

    rig.send(request(Method::DELETE, &session, "")).await;
    child.write(&"much more than any pipe holds".repeat(10_000)).await;
    child.leave().await;

    assert_eq!(began.elapsed().as_secs(), 0);
}
