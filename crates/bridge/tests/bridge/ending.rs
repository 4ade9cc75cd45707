//! The end of the bridge: it comes soon, and leaves nothing behind.

use std::time::Duration;

use ridethrough_bridge::{Bridge, Ended};
use ridethrough_lab::{Mood, Times, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::{Host, Rig, doubt_in, secs};

#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_in_the_middle_of_a_call_ends_it_within_a_second() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    host.call(1, "slow").await;
    tokio::time::sleep(secs(1)).await;

    let left = Instant::now();
    host.finish_writing().await;
    let rest = host.rest().await;

    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
    assert_eq!((host.ended().await, rest.len()), (Ended::HostLeft, 1));
    assert_eq!(rig.count(When::delete()), 1);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.server.open_connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_hears_that_nobody_waits_before_its_session_is_given_back() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    host.call(1, "slow").await;
    tokio::time::sleep(secs(1)).await;

    host.finish_writing().await;
    host.rest().await;

    let log = rig.mcp.log();
    let place = |when: When| log.iter().position(|entry| when.holds(entry));
    let told = place(When::notification("notifications/cancelled")).expect("it was told");
    assert!(told < place(When::delete()).expect("it was given back"));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_while_the_server_is_silent_is_not_held_up() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.server.stall_connections();
    rig.server.set_mood(Mood::BlackHole);
    host.call(1, "echo").await;

    let left = Instant::now();
    host.finish_writing().await;
    host.rest().await;

    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_script_that_is_piped_in_has_its_answers() {
    let rig = Rig::new();
    let mut host = rig.host();
    host.say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#).await;
    host.call(1, "echo").await;
    host.finish_writing().await;

    let rest = host.rest().await;

    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!(rig.count(When::delete()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_reads_no_more_has_left() {
    let rig = Rig::new();
    let host = rig.greeted().await;

    let left = Instant::now();

    assert_eq!(host.left().await, Ended::HostLeft);
    assert!(left.elapsed() < secs(1));
    assert_eq!(rig.count(When::delete()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_bridge_that_is_asked_to_stop_gives_its_session_back() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    host.stop();

    assert_eq!(host.ended().await, Ended::Stopped);
    assert_eq!(rig.count(When::delete()), 1);
}

/// The bridge once dropped the requests that were open when stdin ended: a host that still read waited for
/// ever.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_out_when_the_host_leaves_is_told_what_is_known_of_it() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask.run();
        ask.sse().await.gone().await;
    });
    host.call("a", "deploy").await;
    tokio::time::sleep(secs(1)).await;
    rig.server.set_mood(Mood::Down);
    rig.server.kill().await;
    host.call("b", "put").await;

    let left = Instant::now();
    host.finish_writing().await;
    let rest = answers(&mut host).await;

    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
    assert_eq!(rest.len(), 2, "{rest:?}");
    for (id, kind, may_have_run) in [("a", "interrupted", true), ("b", "closed", false)] {
        let answer = rest.iter().find(|it| it["id"] == id).unwrap();
        let data = if may_have_run { doubt_in(answer) } else { &answer["error"]["data"] };
        assert_eq!((&data["kind"], &data["mayHaveRun"]), (&json!(kind), &json!(may_have_run)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_server_works_at_when_the_host_leaves_may_have_run() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    works_for(&rig, "deploy", secs(3600));
    host.call(1, "deploy").await;
    tokio::time::sleep(secs(1)).await;

    host.finish_writing().await;
    let rest = answers(&mut host).await;

    assert_eq!(rest.len(), 1, "{rest:?}");
    let doubt = doubt_in(&rest[0]);
    assert_eq!((&doubt["kind"], &doubt["mayHaveRun"]), (&json!("closed"), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn more_calls_than_go_out_at_once_all_have_their_end() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Always, |ask| async {
        ask.sse().await.gone().await;
    });
    for id in 0..400 {
        host.call(id, "slow").await;
    }

    let left = Instant::now();
    host.finish_writing().await;
    let rest = answers(&mut host).await;

    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
    let mut ids: Vec<_> = rest.iter().map(|it| it["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..400).collect::<Vec<_>>());
    let kind = |it: &Value| {
        [&it["error"]["data"]["kind"], &doubt_in(it)["kind"]].contains(&&json!("closed"))
    };
    assert!(rest.iter().all(kind), "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_soon_after_the_host_has_left_is_still_written() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    works_for(&rig, "deploy", Duration::from_millis(450));
    host.call(1, "deploy").await;

    host.finish_writing().await;
    let rest = answers(&mut host).await;

    assert!(rest[0]["result"].is_object(), "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_before_it_is_greeted_is_told_so() {
    let rig = Rig::new();
    rig.server.set_mood(Mood::BlackHole);
    let mut host = rig.host();
    host.ask("hello", "initialize", json!({})).await;
    host.ask("list", "tools/list", json!({})).await;

    let left = Instant::now();
    host.finish_writing().await;
    let rest = answers(&mut host).await;

    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
    assert_eq!(rest.len(), 2, "{rest:?}");
    for id in ["hello", "list"] {
        let error = &rest.iter().find(|it| it["id"] == id).unwrap()["error"];
        assert_eq!(error["data"]["kind"], "closed", "{error}");
        assert_eq!(error["data"]["mayHaveRun"], false, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_reads_slowly_has_every_answer() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    with_unread_answers(&rig, &mut host, 300).await;
    host.call(1000, "slow").await;

    host.finish_writing().await;
    let mut ids = Vec::new();
    while let Some(line) = host.next_line().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(doubt_in(&answer).is_object(), answer["id"] == 1000, "{line}");
        ids.push(answer["id"].as_u64().unwrap());
    }

    ids.sort_unstable();
    assert_eq!(ids, (0..300).chain([1000]).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_and_reads_nothing_holds_nobody_up() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    with_unread_answers(&rig, &mut host, 300).await;

    let left = Instant::now();
    host.finish_writing().await;

    assert_eq!(host.ended().await, Ended::HostLeft);
    assert!(left.elapsed() < secs(1), "{:?}", left.elapsed());
    assert_eq!(rig.count(When::delete()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_bridge_that_is_asked_to_stop_ends_what_is_open_and_says_so() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    works_for(&rig, "deploy", secs(3600));
    host.call(1, "deploy").await;
    tokio::time::sleep(secs(1)).await;

    let asked = Instant::now();
    host.stop();
    let rest = answers(&mut host).await;

    assert!(asked.elapsed() < secs(1), "{:?}", asked.elapsed());
    assert_eq!(host.ended().await, Ended::Stopped);
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(doubt_in(&rest[0])["kind"], "closed", "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_bridge_that_writes_to_a_slow_host_still_stops_when_it_is_asked() {
    let rig = Rig::new();
    let mut host = Host::start(Bridge::new(rig.builder().build().unwrap()));
    host.greet().await;
    with_unread_answers(&rig, &mut host, 300).await;
    host.finish_writing().await;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        host.next_line().await.expect("the bridge waits for a host that reads");
    }

    let asked = Instant::now();
    host.stop();
    host.ended().await;

    assert!(asked.elapsed() < Duration::from_millis(100), "{:?}", asked.elapsed());
}

/// Makes so many calls with answers of 20 KB, which the host has not read when it goes on.
async fn with_unread_answers(rig: &Rig, host: &mut Host, count: u64) {
    rig.mcp.rule(When::tool("slow"), Times::Always, |ask| async {
        ask.sse().await.gone().await;
    });
    rig.mcp.rule(When::tool("large"), Times::Always, |ask| async {
        let answer = ask.result(json!({"text": "x".repeat(20_000)}));
        ask.json(answer).await;
    });
    for id in 0..count {
        host.call(id, "large").await;
    }
    tokio::time::sleep(secs(10)).await;
}

/// Makes the tool run, and answer after this time.
fn works_for(rig: &Rig, tool: &str, time: Duration) {
    rig.mcp.rule(When::tool(tool), Times::Once, move |ask| async move {
        ask.run();
        tokio::time::sleep(time).await;
        let answer = ask.result(json!({}));
        ask.json(answer).await;
    });
}

async fn answers(host: &mut Host) -> Vec<Value> {
    host.rest().await.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}
