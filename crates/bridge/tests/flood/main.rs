//! Hosts that send notifications without end, by the thousand and by the million.
//!
//! The time is in proportion to their number, the memory is bounded, and every other message of the host is
//! handled.

#![cfg(test)]

#[path = "../bridge/rig.rs"]
#[allow(dead_code, reason = "the tests of the bridge need more of the rig than these")]
mod rig;
mod upstream;

use std::time::Duration;

use peak_alloc::PeakAlloc;
use ridethrough_bridge::Bridge;
use ridethrough_lab::{Times, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use rig::{Host, Rig, secs};
use upstream::{Notifications, Upstream};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The bridge once worked for more than 20 s: each notification waited for a connection of its own, and all
/// of them woke ten times a second.
#[tokio::test(start_paused = true)]
async fn a_call_behind_fifteen_thousand_notifications_is_answered_in_time() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    let began = Instant::now();
    host.flood(15_000).await;

    let answer = host.asked(1, "tools/call", json!({"name": "echo"})).await;

    assert!(answer["error"].is_null(), "{answer}");
    assert!(began.elapsed() < secs(5), "it took {:?}", began.elapsed());
}

#[tokio::test]
async fn four_times_as_many_notifications_are_about_four_times_the_work() {
    let few = work_of(5_000).await;
    let many = work_of(20_000).await;

    assert!(many < few * 8, "5,000 took {few:?} and 20,000 took {many:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_them_has_all_of_a_hundred_thousand_notifications_in_little_memory() {
    let upstream = Upstream::new(Notifications::Taken);
    let mut host = Host::start(Bridge::new(upstream.client()));
    host.greet().await;
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();

    host.flood(MILLION / 10).await;
    let answer = host.asked(1, "tools/call", json!({"name": "echo"})).await;
    host.finish_writing().await;
    host.rest().await;

    assert!(answer["error"].is_null(), "{answer}");
    assert_eq!(upstream.notified(), MILLION / 10);
    assert!(host.told().is_empty(), "{:?}", host.told());
    assert_within_memory(before);
}

#[tokio::test(start_paused = true)]
async fn a_million_notifications_for_a_server_that_is_down_cost_little_memory_and_hold_up_nobody() {
    let upstream = Upstream::new(Notifications::Taken);
    let mut host = Host::start(Bridge::new(upstream.client()));
    host.greet().await;
    upstream.goes_down();
    ALLOCATOR.reset_peak_usage();
    let (before, began) = (ALLOCATOR.current_usage(), Instant::now());

    host.flood(MILLION).await;
    host.asked(1, "ping", json!({})).await;

    assert!(began.elapsed() < secs(5), "it took {:?}", began.elapsed());
    assert_within_memory(before);
    assert_eq!(floods_told(&host), 1, "{:?}", host.told());
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_notifications_is_held_to_the_bound_too() {
    let upstream = Upstream::new(Notifications::NeverAnswered);
    let mut host = Host::start(Bridge::new(upstream.client()));
    host.greet().await;

    let one = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": 1}});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}});
    let mut batch = vec![one; 20_000];
    batch.push(call);
    host.say(Value::from(batch).to_string()).await;
    let began = Instant::now();
    let answer = host.hear_json().await;

    assert_eq!((&answer["id"], answer["error"].is_null()), (&json!(1), true), "{answer}");
    assert!(began.elapsed() < secs(5), "it took {:?}", began.elapsed());
    assert_eq!(floods_told(&host), 1, "{:?}", host.told());
}

#[tokio::test(start_paused = true)]
async fn a_cancel_behind_a_flood_reaches_a_slow_server_at_once() {
    let rig = slow_with_notifications();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("slow"), Times::Always, |ask| async { ask.sse().await.gone().await });
    host.call(7, "slow").await;
    host.flood(5_000).await;

    host.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;

    let began = Instant::now();
    while rig.count(When::notification("notifications/cancelled")) == 0 {
        assert!(began.elapsed() < secs(3), "the cancel is held up");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_behind_a_flood_reaches_a_slow_server_at_once() {
    let rig = slow_with_notifications();
    let mut host = rig.greeted().await;
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        let question = json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"});
        let mut sse = ask.sse().await;
        sse.message(None, &question).await;
        sse.gone().await;
    });
    host.call(7, "deploy").await;
    let question = host.hear_json().await;
    host.flood(5_000).await;

    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
    host.say(answer.to_string()).await;

    let began = Instant::now();
    while rig.count(When::response()) == 0 {
        assert!(began.elapsed() < secs(3), "the answer is held up");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_behind_a_flood_is_answered_while_the_server_is_slow_with_notifications() {
    let rig = slow_with_notifications();
    let mut host = rig.greeted().await;
    let began = Instant::now();
    host.flood(5_000).await;

    let answer = host.asked(1, "tools/call", json!({"name": "echo"})).await;

    assert!(answer["error"].is_null(), "{answer}");
    assert!(began.elapsed() < secs(5), "it took {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_is_counted_and_told_once_and_the_rest_arrives() {
    let upstream = Upstream::new(Notifications::NeverAnswered);
    let bridge = Bridge::new(upstream.client());
    let gauge = bridge.gauge();
    let mut host = Host::start(bridge);
    host.greet().await;

    host.flood(3_000).await;
    host.asked(1, "ping", json!({})).await;
    host.flood(2_000).await;
    host.asked(2, "ping", json!({})).await;

    let dropped = gauge.read().await.unwrap().dropped_notifications;
    assert_eq!(dropped, 5_000 - 1_000, "a thousand wait");
    assert_eq!(floods_told(&host), 1, "{:?}", host.told());
    upstream.takes_notifications();
    tokio::time::sleep(secs(3600)).await;
    host.flood(10).await;
    host.asked(3, "ping", json!({})).await;
    tokio::time::sleep(secs(1)).await;
    assert!(upstream.notified() >= 10, "nothing is dropped once there is room");
    assert_eq!(gauge.read().await.unwrap().dropped_notifications, dropped);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_asks_without_end_is_refused_what_it_cannot_wait_for() {
    let upstream = Upstream::new(Notifications::Taken);
    let mut host = Host::start(Bridge::new(upstream.client()));
    host.greet().await;
    upstream.goes_down();

    for begin in (0..11_000).step_by(CROWD) {
        let crowd: Vec<_> = (begin..begin + CROWD).map(question).collect();
        host.say(crowd.join("\n")).await;
    }
    let refused = host.hear_json().await;

    assert_eq!(refused["id"], 10_000, "{refused}");
    assert_eq!(refused["error"]["data"]["mayHaveRun"], false, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("10,000"), "{refused}");
    for _ in 10_001..11_000 {
        host.hear().await;
    }
    host.asked(20_000, "ping", json!({})).await;
}

/// A small message must not keep in memory a large one that came in one read with it.
#[tokio::test(start_paused = true)]
async fn a_notification_that_waits_holds_its_own_bytes_only() {
    let upstream = Upstream::new(Notifications::NeverAnswered);
    let mut host = Host::start(Bridge::new(upstream.client()));
    host.greet().await;
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();

    let large =
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "x".repeat(4 << 20)}});
    let (large, small) = (large.to_string(), notification(0));
    for _ in 0..40 {
        host.say(format!("{large}\n{small}")).await;
        host.hear().await;
    }

    assert_within_memory(before);
}

async fn work_of(number: usize) -> Duration {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    let before = cpu_time();
    host.flood(number).await;
    host.call(1, "echo").await;
    host.hear().await;
    cpu_time() - before
}

/// Returns the processor time of this process; other processes do not count.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("a process has not worked for less than no time")
}

/// Returns a server that reads a notification and never accepts it.
fn slow_with_notifications() -> Rig {
    let rig = Rig::new();
    rig.mcp.rule(When::notification("notifications/x"), Times::Always, |ask| async {
        let (_, reply) = ask.reply();
        tokio::time::sleep(secs(36_000)).await;
        drop(reply);
    });
    rig
}

impl Host {
    /// Writes so many notifications, many at a time.
    async fn flood(&mut self, number: usize) {
        for begin in (0..number).step_by(CROWD) {
            let crowd: Vec<_> = (begin..number.min(begin + CROWD)).map(notification).collect();
            self.say(crowd.join("\n")).await;
        }
    }
}

fn notification(number: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"n":{number}}}}}"#)
}

fn question(number: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"echo"}}}}"#)
}

fn floods_told(host: &Host) -> usize {
    host.told().iter().filter(|line| line.contains("notifications")).count()
}

fn assert_within_memory(before: usize) {
    let peak = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(peak < MOST_MEMORY, "{} MiB", peak >> 20);
}

const MILLION: usize = 1_000_000;
const CROWD: usize = 1000;
const MOST_MEMORY: usize = 64 << 20;
