//! The status of a bridge, read while it runs.

use ridethrough_bridge::{Breaker, Gauge, Snapshot, State};
use ridethrough_lab::{Times, When};
use serde_json::json;

use crate::rig::{Host, Rig, secs};

#[tokio::test(start_paused = true)]
async fn a_bridge_that_waits_for_its_host_is_connecting() {
    let rig = Rig::new();
    let (_host, gauge) = watched(&rig);
    tokio::time::sleep(secs(3)).await;

    let seen = gauge.read().await.unwrap();

    assert_eq!((seen.state, seen.up_since_ms), (State::Connecting, 3000));
    assert_eq!((seen.generation, seen.age_ms, seen.host), (None, None, None));
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_are_seen_by_name_and_age_and_not_by_what_they_carry() {
    let rig = Rig::new();
    let (mut host, gauge) = watched(&rig);
    host.greet().await;
    tokio::time::sleep(secs(2)).await;
    rig.mcp.rule(When::tool("slow\u{1b}[2J"), Times::Once, |ask| async {
        ask.sse().await.gone().await;
    });
    let params = json!({"name": "slow\u{1b}[2J", "arguments": {"key": "s3cret"}});
    host.ask("first", "tools/call", params).await;
    tokio::time::sleep(secs(5)).await;

    let seen = gauge.read().await.unwrap();

    assert_eq!((seen.state, seen.breaker), (State::Ready, Breaker::Closed));
    assert_eq!(
        (seen.host.as_deref(), seen.server.as_deref()),
        (Some("host"), Some("ridethrough-lab"))
    );
    assert_eq!((seen.generation.is_some(), seen.age_ms), (true, Some(7000)));
    assert_eq!((&*seen.era, seen.revision.as_deref()), ("legacy", Some("2025-11-25")));
    assert_eq!((seen.in_flight.len(), seen.in_flight_count, seen.waiting), (1, 1, 0));
    let call = &seen.in_flight[0];
    assert_eq!((&*call.method, call.elapsed_ms), ("tools/call", 5000));
    assert_eq!(call.tool.as_deref(), Some("slow\u{fffd}[2J"));
    assert!(!serde_json::to_string(&seen).unwrap().contains("s3cret"));
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_seen_while_it_lasts_and_counted_when_it_is_over() {
    let rig = Rig::new();
    let (mut host, gauge) = watched(&rig);
    host.greet().await;
    host.call(1, "echo").await;
    host.hear().await;

    rig.server.kill().await;
    host.call(2, "echo").await;
    tokio::time::sleep(secs(8)).await;
    let down = gauge.read().await.unwrap();
    rig.server.restart().await.unwrap();
    host.hear().await;
    tokio::time::sleep(secs(1)).await;
    let back = gauge.read().await.unwrap();

    assert_eq!((down.state, down.waiting, down.recoveries), (State::Recovering, 1, 0));
    let error = down.last_error.unwrap();
    assert!(error.message.contains("refused") && error.ago_ms < 8000, "{error:?}");
    assert!(down.next_attempt_ms.is_some_and(|time| time < 10_000), "{:?}", down.next_attempt_ms);
    assert_eq!((back.state, back.next_attempt_ms, back.recoveries), (State::Ready, None, 1));
    assert!((8000..20_000).contains(&back.lost_ms), "{}", back.lost_ms);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_another_one_afterwards() {
    let rig = Rig::new();
    let (mut host, gauge) = watched(&rig);
    host.greet().await;
    tokio::time::sleep(secs(100)).await;
    let before = gauge.read().await.unwrap();

    rig.mcp.forget_sessions();
    host.call(1, "echo").await;
    host.hear().await;
    tokio::time::sleep(secs(1)).await;
    let seen = gauge.read().await.unwrap();

    assert_eq!(seen.state, State::Ready);
    assert_eq!(seen.generation, before.generation.map(|number| number + 1));
    assert!(seen.age_ms.is_some_and(|age| age < 2000), "{:?}", seen.age_ms);
}

#[tokio::test(start_paused = true)]
async fn words_of_a_server_that_may_repeat_a_secret_are_not_told() {
    let rig = Rig::new();
    rig.mcp.rule(When::method("initialize"), Times::Always, |ask| async move {
        let error = json!({"code": -32000, "message": "no such token: s3cret"});
        let answer = json!({"jsonrpc": "2.0", "id": ask.id(), "error": error});
        ask.json(answer.to_string()).await;
    });
    let (mut host, gauge) = watched(&rig);
    host.greet().await;

    let seen = gauge.read().await.unwrap();

    assert_eq!(seen.state, State::Connecting);
    assert!(!serde_json::to_string(&seen).unwrap().contains("s3cret"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_crowd_of_calls_is_counted_and_only_its_oldest_are_named() {
    let rig = Rig::new();
    let (mut host, gauge) = watched(&rig);
    host.greet().await;
    rig.mcp.rule(When::tool("slow"), Times::Always, |ask| async {
        ask.sse().await.gone().await;
    });

    for id in 0..400 {
        host.call(id, "slow").await;
    }
    tokio::time::sleep(secs(1)).await;
    let seen = gauge.read().await.unwrap();

    assert_eq!((seen.in_flight_count, seen.in_flight.len()), (400, 50));
    assert!(seen.waiting > 0, "more than can be in flight at once");
    let json = serde_json::to_string(&seen).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), seen);
}

#[tokio::test(start_paused = true)]
async fn a_bridge_that_has_ended_says_nothing() {
    let rig = Rig::new();
    let (mut host, gauge) = watched(&rig);
    host.greet().await;

    host.stop();
    host.ended().await;

    assert_eq!(gauge.read().await, None);
}

fn watched(rig: &Rig) -> (Host, Gauge) {
    let mut gauge = None;
    let host = rig.host_of(|bridge| {
        gauge = Some(bridge.gauge());
        bridge
    });
    (host, gauge.unwrap())
}
