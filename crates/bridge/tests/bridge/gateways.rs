//! The faults that other bridges were measured on, a test for each row of the table in `docs/evidence/bridges.md`. Each
//! test asserts the outcome that a host needs. The last row, a bridge that is started while the upstream is
//! down, is in `starting.rs`.

use std::time::Duration;

use ridethrough_lab::{Mood, Times, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::{Host, Rig, doubt_in, secs};

#[tokio::test(start_paused = true)]
async fn a_session_that_is_answered_404_is_renewed_and_the_call_answered() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    rig.mcp.forget_sessions();
    host.call(1, "deploy").await;

    assert!(host.hear_json().await["result"].is_object());
    assert_eq!(rig.count(When::method("initialize")), 2);
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn eight_calls_that_find_the_session_gone_are_all_answered_over_one_new_one() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    rig.mcp.forget_sessions();
    for id in 1..=8 {
        host.call(id, "echo").await;
    }
    let heard = host.hear_for(secs(60)).await;

    let mut ids: Vec<_> = heard.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(heard.iter().all(|answer| answer["result"].is_object()), "{heard:?}");
    assert_eq!(rig.count(When::method("initialize")), 2);
    assert_eq!(rig.mcp.executions("echo"), 8);
    let told = host.told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].ends_with("; recovering") && told[1].starts_with("back after "), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_answered_400_is_renewed_and_the_call_answered() {
    let rig = Rig::new();
    let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
    let body = json!({"jsonrpc": "2.0", "error": error, "id": null});
    rig.mcp.lost_session(400, body.to_string());
    let mut host = rig.greeted().await;

    rig.mcp.forget_sessions();
    host.call(1, "deploy").await;

    assert!(host.hear_json().await["result"].is_object());
    assert_eq!(rig.count(When::method("initialize")), 2);
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_503_with_retry_after_is_waited_out() {
    is_waited_out(503).await;
}

#[tokio::test(start_paused = true)]
async fn a_429_with_retry_after_is_waited_out() {
    is_waited_out(429).await;
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_is_dropped_is_told_as_one_that_may_have_run() {
    let rig = Rig::new();
    let mut host = with_tools(&rig).await;
    runs_and_drops(&rig, "deploy");

    host.call(2, "deploy").await;
    let answer = host.hear_json().await;

    let doubt = doubt_in(&answer);
    assert_eq!((&doubt["kind"], &doubt["mayHaveRun"]), (&json!("interrupted"), &json!(true)));
    let words = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("may have run"), "{words}");
    assert_eq!(rig.mcp.executions("deploy"), 1);
    assert_still_works(&mut host).await;
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_answer_is_dropped_is_asked_again() {
    let rig = Rig::new();
    let mut host = with_tools(&rig).await;
    runs_and_drops(&rig, "read");

    host.call(2, "read").await;

    assert!(host.hear_json().await["result"].is_object());
    assert_eq!(rig.mcp.executions("read"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_drops_after_an_event_id_is_resumed_and_the_tool_runs_once() {
    let rig = Rig::new();
    let mut host = with_tools(&rig).await;
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask.run();
        let answer = ask.result(json!({"content": []}));
        ask.mcp().rule(When::resume(), Times::Once, move |resume| {
            let answer = String::from_utf8(answer.to_vec()).unwrap();
            async move { resume.sse().await.event_and_finish(Some("8"), &answer).await }
        });
        let mut stream = ask.sse().await;
        stream.prime("7").await;
        stream.retry(Duration::from_millis(200)).await;
        stream.cut().await;
    });
    let began = Instant::now();

    host.call(2, "deploy").await;

    assert!(host.hear_json().await["result"].is_object());
    assert!(began.elapsed() >= Duration::from_millis(200), "{:?}", began.elapsed());
    assert_eq!((rig.mcp.executions("deploy"), rig.count(When::resume())), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_drops_without_an_event_id_is_answered_at_once() {
    let rig = Rig::new();
    let mut host = with_tools(&rig).await;
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask.run();
        ask.sse().await.cut().await;
    });
    let began = Instant::now();

    host.call(2, "deploy").await;
    let answer = host.hear_json().await;

    assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
    assert_eq!(doubt_in(&answer)["mayHaveRun"], true, "{answer}");
    assert_eq!(rig.mcp.executions("deploy"), 1);
    assert_still_works(&mut host).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_upstream_that_is_down_is_answered_within_patience_and_says_so() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.server.kill().await;
    rig.server.set_mood(Mood::Down);
    let began = Instant::now();

    host.call(1, "deploy").await;
    let error = host.hear_json().await["error"].clone();

    assert!(began.elapsed() <= secs(30), "{:?}", began.elapsed());
    assert_eq!(error["data"]["mayHaveRun"], false, "{error}");
    assert_eq!(error["data"]["kind"], "unreachable", "{error}");
    assert!(error["message"].as_str().unwrap().contains("could not reach the server"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_comes_back_as_a_new_process_is_the_same_server_to_the_host() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "logging/setLevel", json!({"level": "info"})).await;

    rig.server.kill().await;
    rig.mcp.forget_sessions();
    host.call(2, "echo").await;
    tokio::time::sleep(secs(8)).await;
    rig.server.restart().await.unwrap();

    assert!(host.hear_json().await["result"].is_object());
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.count(When::method("logging/setLevel")), 2, "the level is told again");
    let told = host.told();
    assert!(told.iter().any(|line| line.starts_with("still recovering after 5 s")), "{told:?}");
    assert!(told.last().unwrap().starts_with("back after "), "{told:?}");
}

/// Returns a host that has listed the tools, so that the bridge knows which may be called twice.
async fn with_tools(rig: &Rig) -> Host {
    let mut host = rig.greeted().await;
    host.asked(1, "tools/list", json!({})).await;
    host
}

/// Makes the next call of this tool run, and then resets its connection.
fn runs_and_drops(rig: &Rig, tool: &str) {
    rig.mcp.rule(When::tool(tool), Times::Once, |ask| async {
        ask.run();
        ask.reply().1.reset();
    });
}

async fn is_waited_out(status: u16) {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| async move {
        let id = ask.id();
        let error = json!({"code": -32000, "message": "full", "data": {"mayHaveRun": false}});
        let body = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
        let headers = [("retry-after", "1"), ("content-type", "application/json")];
        ask.status(status, &headers, body).await;
    });
    let began = Instant::now();

    host.call(1, "deploy").await;

    assert!(host.hear_json().await["result"].is_object());
    assert!((secs(1)..secs(5)).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

async fn assert_still_works(host: &mut Host) {
    let answer: Value = host.asked(99, "ping", json!({})).await;
    assert!(answer["result"].is_object(), "{answer}");
    host.call(100, "echo").await;
    assert!(host.hear_json().await["result"].is_object());
}
