//! Three states in which a connection looks better than it is, and which connections are used again.
//!
//! Late flush: bytes that leave after an error was reported. Stale readiness: an end that the kernel has and
//! the runtime has not seen. Unsolicited 408: bytes that would be taken for the next answer.

use std::collections::BTreeSet;
use std::time::Duration;

use ridethrough::error::{Delivery, Kind};
use ridethrough::{Client, RetryPolicy};
use ridethrough_lab::{Protocol, Server, Times, When};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use crate::rig::{Rig, call, millis, params, secs, settle, text};
use crate::valve::{Up, Valve};

#[tokio::test(start_paused = true)]
async fn after_a_half_close_a_blocked_request_is_not_sent_and_never_will_be() {
    let rig = Rig::over(Protocol::Http1);
    let valve = Valve::to(&rig.server);
    let policy = RetryPolicy::never();
    let client = rig.builder().dial(valve.clone()).retry_policy(policy).build().unwrap();
    settle(&client).await;
    valve.turn(Up::Blocked);

    let closing = async {
        sleep(millis(10)).await;
        valve.half_close();
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), closing);
    valve.turn(Up::Flows);
    sleep(secs(1)).await;

    let error = result.unwrap_err();
    assert_eq!(error.call().unwrap().delivery, Delivery::NotSent, "{error}");
    assert!(!error.may_have_run());
    assert_eq!(rig.count(When::tool("deploy")), 0);
}

#[tokio::test(start_paused = true)]
async fn a_blocked_request_that_is_sent_again_after_a_half_close_arrives_once() {
    let rig = Rig::over(Protocol::Http1);
    let valve = Valve::to(&rig.server);
    let client = rig.builder().dial(valve.clone()).build().unwrap();
    settle(&client).await;
    valve.turn(Up::Blocked);

    let closing = async {
        sleep(millis(10)).await;
        valve.half_close();
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), closing);
    valve.turn(Up::Flows);
    sleep(secs(1)).await;

    result.unwrap();
    assert_eq!(rig.count(When::tool("deploy")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_blocked_request_whose_caller_went_away_is_never_sent() {
    let rig = Rig::over(Protocol::Http1);
    let valve = Valve::to(&rig.server);
    let client = rig.builder().dial(valve.clone()).build().unwrap();
    settle(&client).await;
    valve.turn(Up::Blocked);

    let dropped = timeout(millis(10), call(&client, "deploy", "a")).await;
    sleep(millis(10)).await;
    valve.turn(Up::Flows);
    sleep(secs(1)).await;

    assert!(dropped.is_err());
    assert_eq!(rig.count(When::tool("deploy")), 0);
}

#[tokio::test(start_paused = true)]
async fn a_close_that_the_runtime_has_not_seen_fails_no_call() {
    let rig = Rig::over(Protocol::Http1);
    let valve = Valve::to(&rig.server);
    let client = rig.builder().dial(valve.clone()).build().unwrap();
    settle(&client).await;

    for round in 0..300 {
        let key = round.to_string();
        valve.go_stale();
        rig.server.close_idle();
        sleep(millis(1)).await;

        call(&client, "deploy", &key).await.unwrap();

        assert_eq!(rig.mcp.executions_of("deploy", &key), 1, "{key}");
    }
}

#[test]
fn a_close_that_only_the_kernel_knows_of_fails_no_call_on_sockets() {
    let town = Town::new(Protocol::Http1);

    for round in 0..1000 {
        town.close_all(Server::close_idle);
        let key = round.to_string();

        town.client_side.block_on(call(&town.client, "deploy", &key)).unwrap();

        assert_eq!(town.rig.mcp.executions_of("deploy", &key), 1, "{key}");
    }
}

#[test]
fn a_close_under_tls_that_only_the_kernel_knows_of_fails_no_call_on_sockets() {
    let town = Town::new(Protocol::Http1Tls);

    for round in 0..200 {
        town.close_all(Server::close_idle);
        let key = round.to_string();

        town.client_side.block_on(call(&town.client, "deploy", &key)).unwrap();

        assert_eq!(town.rig.mcp.executions_of("deploy", &key), 1, "{key}");
    }
}

on_every_socket! {
    async fn a_close_while_idle_fails_no_later_call_on_sockets(rig: Rig) {
        without_standing_stream(&rig);
        let client = rig.client();
        client.connect().await.unwrap();

        for round in 0..100 {
            while rig.server.open_connections() > 0 {
                rig.server.close_idle();
                sleep(millis(1)).await;
            }
            let key = round.to_string();

            call(&client, "deploy", &key).await.unwrap();

            assert_eq!(rig.mcp.executions_of("deploy", &key), 1, "{key}");
        }
    }
}

#[test]
fn an_unsolicited_408_is_never_the_answer_of_a_later_call_on_sockets() {
    let town = Town::new(Protocol::Http1);

    for round in 0..300 {
        town.close_all(|server| server.say_on_idle(UNSOLICITED));
        let key = round.to_string();

        let result = town.client_side.block_on(call(&town.client, "deploy", &key)).unwrap();

        assert!(result.as_str().contains(&format!(r#"\"key\":\"{key}\""#)), "{}", result.as_str());
        assert_eq!(town.rig.mcp.executions_of("deploy", &key), 1, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unsolicited_408_is_never_the_answer_of_a_later_call() {
    let rig = Rig::over(Protocol::Http1);
    let valve = Valve::to(&rig.server);
    let client = rig.builder().dial(valve.clone()).build().unwrap();
    settle(&client).await;

    for round in 0..300 {
        let key = round.to_string();
        valve.go_stale();
        rig.server.say_on_idle(UNSOLICITED);
        sleep(millis(1)).await;

        let result = call(&client, "deploy", &key).await.unwrap();

        assert!(result.as_str().contains(&format!(r#"\"key\":\"{key}\""#)), "{}", result.as_str());
        assert_eq!(rig.mcp.executions_of("deploy", &key), 1, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_failed_is_never_used_again() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        let mut raw = ask.reply().1.raw().unwrap();
        raw.write("HTTP/1.1 200 OK\r\ncontent-length: nonsense\r\n\r\n").await;
        raw.gone().await;
    });
    let client = rig.client();
    call(&client, "echo", "a").await.unwrap();

    let error = call(&client, "deploy", "a").await.unwrap_err();
    call(&client, "echo", "b").await.unwrap();

    assert_eq!(error.call().unwrap().kind, Kind::PeerMisbehaved);
    assert_left_behind(&rig);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_stalled_is_never_used_again() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        ask.reply().1.hold().await;
    });
    let client = rig.client();
    call(&client, "echo", "a").await.unwrap();

    let stalling = async {
        sleep(millis(10)).await;
        rig.server.stall_connections();
    };
    let deploying = client.request("tools/call", params("deploy", "a")).timeout(secs(5));
    let (stalled, ()) = tokio::join!(deploying.into_future(), stalling);
    call(&client, "echo", "b").await.unwrap();

    assert_eq!(stalled.unwrap_err().call().unwrap().kind, Kind::DeadlinePassed);
    assert_left_behind(&rig);
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_call_was_cancelled_is_never_used_again() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        sleep(secs(2)).await;
        ask.pass().await;
    });
    let client = rig.client();
    call(&client, "echo", "a").await.unwrap();

    let cancelled = timeout(secs(1), call(&client, "deploy", "a")).await;
    sleep(secs(2)).await;
    call(&client, "echo", "b").await.unwrap();

    assert!(cancelled.is_err());
    assert_left_behind(&rig);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_rested_for_59_s_is_used_again() {
    assert_eq!(connections_with_a_rest_of(secs(59)).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_rested_for_60_s_is_not_used_again() {
    assert_eq!(connections_with_a_rest_of(secs(60)).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_connections_for_5_s_is_believed_for_4() {
    let rig = Rig::over(Protocol::Http1);
    keeps_alive_for(&rig, "timeout=5, max=100");
    let client = rig.client();
    call(&client, "echo", "a").await.unwrap();

    sleep(millis(3900)).await;
    call(&client, "echo", "b").await.unwrap();
    let within_4_s = connections_of(&rig, "echo").len();
    sleep(millis(4000)).await;
    call(&client, "echo", "c").await.unwrap();

    assert_eq!(within_4_s, 1);
    assert_eq!(connections_of(&rig, "echo").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn after_a_burst_sequential_calls_use_one_connection() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        sleep(secs(1)).await;
        ask.pass().await;
    });
    let client = rig.client();
    client.connect().await.unwrap();
    let burst = (0..10).map(|_| call(&client, "deploy", "burst"));
    futures_util::future::join_all(burst)
        .await
        .into_iter()
        .for_each(|result| drop(result.unwrap()));

    for _ in 0..20 {
        call(&client, "echo", "a").await.unwrap();
    }

    assert_eq!(connections_of(&rig, "deploy").len(), 10);
    assert_eq!(connections_of(&rig, "echo").len(), 1);
}

/// Returns how many connections two calls use with so long an idle time between them.
async fn connections_with_a_rest_of(time: Duration) -> usize {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.client();
    call(&client, "echo", "a").await.unwrap();
    sleep(time).await;
    call(&client, "echo", "b").await.unwrap();
    connections_of(&rig, "echo").len()
}

/// A server and a client on sockets, each with a runtime of its own. While the test waits outside of the
/// client's runtime, the client sees nothing of what arrives.
struct Town {
    rig: Rig,
    client: Client,
    client_side: Runtime,
    _server_side: Runtime,
}

impl Town {
    fn new(protocol: Protocol) -> Self {
        let server_side = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let client_side = Builder::new_current_thread().enable_all().build().unwrap();
        let server_side = server_side.unwrap();
        let rig = server_side.block_on(Rig::on_sockets(protocol));
        without_standing_stream(&rig);
        let client = client_side.block_on(async {
            let client = rig.client();
            client.connect().await.unwrap();
            // A connection that is still being made would never become idle, because the client's runtime
            // does not run then.
            while rig.count(When::listen()) == 0 {
                sleep(millis(1)).await;
            }
            client
        });
        Self { rig, client, client_side, _server_side: server_side }
    }

    /// Makes the server end every connection, and waits until the kernel knows.
    fn close_all(&self, end: impl Fn(&Server)) {
        while self.rig.server.open_connections() > 0 {
            // This is repeated, because the client's handshake may still keep a connection busy.
            end(&self.rig.server);
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// Refuses the standing stream, which is never idle: the server would not close its connection.
fn without_standing_stream(rig: &Rig) {
    rig.mcp.rule(When::listen(), Times::Always, |ask| ask.status(405, &[], ""));
}

/// Checks that the connection of `deploy` carried nothing after it.
fn assert_left_behind(rig: &Rig) {
    let log = rig.mcp.log();
    let deploy = log.iter().position(|entry| When::tool("deploy").holds(entry)).unwrap();
    let later: Vec<u64> = log[deploy + 1..].iter().map(|entry| entry.connection).collect();
    assert!(!later.is_empty());
    assert!(!later.contains(&log[deploy].connection), "{later:?}");
}

/// Returns the connections on which a tool was called.
fn connections_of(rig: &Rig, tool: &str) -> BTreeSet<u64> {
    let tool = When::tool(tool);
    rig.mcp.log().iter().filter(|entry| tool.holds(entry)).map(|entry| entry.connection).collect()
}

/// Answers `echo` with this `Keep-Alive` header.
fn keeps_alive_for(rig: &Rig, keep_alive: &'static str) {
    rig.mcp.rule(When::tool("echo"), Times::Always, move |ask| async move {
        let body = ask.result(text("a"));
        let headers = [("content-type", "application/json"), ("keep-alive", keep_alive)];
        ask.status(200, &headers, body).await;
    });
}

const UNSOLICITED: &str =
    "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
