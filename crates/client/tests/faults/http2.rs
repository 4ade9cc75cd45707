//! Faults that only HTTP/2 has: refused streams, GOAWAY, a limit of streams, one connection for all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use h2::Reason;
use ridethrough::error::{Delivery, Kind};
use ridethrough::{Client, Error, Json};
use ridethrough_lab::{Http2, Processed, Protocol, Times, When};
use tokio::sync::{Barrier, Notify};
use tokio::time::{Instant, sleep, timeout};

use crate::rig::{Rig, call, millis, params, secs, text};
use crate::valve::{Up, Valve};

#[tokio::test(start_paused = true)]
async fn a_graceful_goaway_is_noticed_by_nobody() {
    let rig = Rig::over(Protocol::Http2Tls);
    slow(&rig);
    let client = rig.client();
    client.connect().await.unwrap();

    let coming = async {
        sleep(secs(1)).await;
        rig.server.go_away(Processed::All);
        calls(&client, "new", 10).await
    };
    let (running, coming) = tokio::join!(calls(&client, "old", 10), coming);

    assert!(running.iter().chain(&coming).all(Result::is_ok), "{running:?} {coming:?}");
    assert!((0..10).all(|n| rig.mcp.executions_of("deploy", &format!("old {n}")) == 1));
    assert!((0..10).all(|n| rig.mcp.executions_of("deploy", &format!("new {n}")) == 1));
    assert_eq!(rig.server.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_beyond_the_last_stream_of_a_goaway_is_sent_again_and_runs_once() {
    let rig = Rig::over(Protocol::Http2Tls);
    let valve = Valve::to(&rig.server);
    let client = rig.builder().dial(valve.clone()).build().unwrap();
    client.connect().await.unwrap();
    valve.turn(Up::Lost);

    let going_away = async {
        sleep(millis(10)).await;
        rig.server.go_away(Processed::SoFar(Reason::NO_ERROR));
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), going_away);

    result.unwrap();
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_goaway_covers_is_in_doubt_when_the_connection_dies() {
    let rig = Rig::over(Protocol::Http2Tls);
    runs_and_hangs(&rig);
    let client = rig.client();

    let dying = async {
        sleep(secs(1)).await;
        rig.server.go_away(Processed::All);
        sleep(secs(1)).await;
        rig.server.reset_connections();
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), dying);

    assert_interrupted(&rig, &result);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_an_abrupt_goaway_covers_is_in_doubt() {
    let rig = Rig::over(Protocol::Http2Tls);
    runs_and_hangs(&rig);
    let client = rig.client();

    let dying = async {
        sleep(secs(1)).await;
        rig.server.go_away(Processed::SoFar(Reason::NO_ERROR));
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), dying);

    assert_interrupted(&rig, &result);
}

#[tokio::test(start_paused = true)]
async fn a_stream_refused_once_is_asked_for_again_and_the_call_runs_once() {
    let rig = Rig::over(Protocol::Http2Tls);
    refuse(&rig, Times::Once, Reason::REFUSED_STREAM);
    let client = rig.client();

    call(&client, "deploy", "a").await.unwrap();

    assert_eq!(rig.count(When::tool("deploy")), 2);
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_refused_for_ever_ends_the_call_as_one_that_did_not_run() {
    let rig = Rig::over(Protocol::Http2Tls);
    refuse(&rig, Times::Always, Reason::REFUSED_STREAM);
    let client = rig.client();
    client.connect().await.unwrap();

    let began = Instant::now();
    let error = call(&client, "deploy", "a").await.unwrap_err();

    assert_eq!(error.call().unwrap().kind, Kind::Unreachable);
    assert_eq!(error.call().unwrap().delivery, Delivery::NotSent);
    assert!(!error.may_have_run());
    // The patience of the default policy: 30 s of waiting.
    assert!((secs(30)..=secs(31)).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_refused_for_ever_is_asked_for_at_a_walking_pace() {
    let rig = Rig::over(Protocol::Http2Tls);
    refuse(&rig, Times::Always, Reason::REFUSED_STREAM);
    let client = rig.client();

    call(&client, "deploy", "a").await.unwrap_err();

    let times = rig.times(&When::tool("deploy"));
    let in_a_second = |from| times.iter().filter(|&&at| from <= at && at < from + secs(1)).count();
    let busiest = times.iter().map(|&from| in_a_second(from)).max();
    // The first redial is immediate; then there is a gap of 50 ms at least.
    assert!(busiest.unwrap() <= 21, "{times:?}");
    // Short gaps for 5 s, then doubling to 5 s, until 30 s are over.
    assert!((20..=120).contains(&times.len()), "{}", times.len());
}

#[tokio::test(start_paused = true)]
async fn a_stream_refused_for_ever_leaves_no_connections_behind() {
    let rig = Rig::over(Protocol::Http2Tls);
    refuse(&rig, Times::Always, Reason::REFUSED_STREAM);
    let client = rig.client();

    call(&client, "deploy", "a").await.unwrap_err();

    // The first connection, because the standing stream is on it, and the last.
    assert_eq!(rig.server.open_connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_reset_to_calm_us_leaves_the_call_in_doubt() {
    let rig = Rig::over(Protocol::Http2Tls);
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        ask.run();
        ask.reply().1.reset_with(Reason::ENHANCE_YOUR_CALM);
    });
    let client = rig.client();

    let result = call(&client, "deploy", "a").await;

    assert_interrupted(&rig, &result);
}

#[tokio::test(start_paused = true)]
async fn a_goaway_to_calm_us_leaves_the_calls_that_it_covers_in_doubt() {
    let rig = Rig::over(Protocol::Http2Tls);
    runs_and_hangs(&rig);
    let client = rig.client();

    let calming = async {
        sleep(secs(1)).await;
        rig.server.go_away(Processed::SoFar(Reason::ENHANCE_YOUR_CALM));
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), calming);

    assert_interrupted(&rig, &result);
}

#[tokio::test(start_paused = true)]
async fn a_goaway_to_calm_us_proves_that_the_calls_beyond_it_did_not_run() {
    let rig = Rig::over(Protocol::Http2Tls);
    let valve = Valve::to(&rig.server);
    let client = rig.builder().dial(valve.clone()).build().unwrap();
    client.connect().await.unwrap();
    valve.turn(Up::Lost);

    let calming = async {
        sleep(millis(10)).await;
        rig.server.go_away(Processed::SoFar(Reason::ENHANCE_YOUR_CALM));
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), calming);

    result.unwrap();
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn fifty_calls_at_a_limit_of_four_streams_all_succeed_within_the_limit() {
    let rig = Rig::over(Protocol::Http2Tls);
    let crowd = Arc::new(Crowd::default());
    limit_to_four(&rig);
    count_streams(&rig, &crowd);
    let client = rig.client();
    client.connect().await.unwrap();

    let began = Instant::now();
    let results = calls(&client, "a", 50).await;

    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!(crowd.most.load(Ordering::Relaxed) <= 4, "{crowd:?}");
    assert_eq!(rig.mcp.executions("deploy"), 50);
    assert_eq!(rig.server.connections(), 1);
    // Two calls at a time, because one stream is the standing one and one is kept free: 25 rounds of 1 s.
    assert!((secs(25)..secs(26)).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_cancel_passes_while_all_streams_for_calls_are_taken() {
    let rig = Rig::over(Protocol::Http2Tls);
    limit_to_four(&rig);
    runs_and_hangs(&rig);
    let client = rig.client();
    client.connect().await.unwrap();
    let others = calls(&client, "other", 10);

    let cancelling = async {
        let cancelled = timeout(secs(1), call(&client, "deploy", "a")).await;
        assert!(cancelled.is_err());
        sleep(millis(100)).await;
    };
    tokio::select! {
        biased;
        () = cancelling => {}
        _ = others => panic!("nobody answers"),
    }

    assert_eq!(rig.count(When::notification("notifications/cancelled")), 1);
    assert_eq!(rig.mcp.standing_streams(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_allows_one_stream_or_two_gets_calls_and_cancels_all_the_same() {
    for streams in [1, 2] {
        let rig = Rig::over(Protocol::Http2Tls);
        rig.server.http2(Http2 { max_concurrent_streams: Some(streams), ..Http2::default() });
        let client = rig.client();
        call(&client, "echo", "a").await.unwrap();
        runs_and_hangs(&rig);

        let cancelled = timeout(secs(1), call(&client, "deploy", "a")).await;
        sleep(millis(100)).await;

        assert!(cancelled.is_err(), "nobody answers");
        assert_eq!(rig.mcp.executions("deploy"), 1);
        assert_eq!(rig.count(When::notification("notifications/cancelled")), 1);
        assert_eq!(rig.mcp.standing_streams(), 1);
        call(&client, "echo", "b").await.unwrap();
        assert!(rig.server.connections() <= 3, "{}", rig.server.connections());
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_passes_while_all_streams_for_calls_are_taken() {
    let rig = Rig::over(Protocol::Http2Tls);
    limit_to_four(&rig);
    runs_and_hangs(&rig);
    let client = rig.client();
    client.connect().await.unwrap();

    let silence = timeout(millis(30_100), calls(&client, "a", 10)).await;

    assert!(silence.is_err());
    assert_eq!(rig.count(When::method("ping")), 1);
    assert_eq!(rig.mcp.standing_streams(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_huge_answer_does_not_starve_small_ones() {
    let rig = Rig::over(Protocol::Http2Tls);
    let steps = Arc::new(Steps::default());
    answer_hugely(&rig, &steps);
    let client = rig.client();
    client.connect().await.unwrap();

    let small = async {
        let mut results = Vec::new();
        for moment in [&steps.begun, &steps.nearly_sent] {
            moment.notified().await;
            let calls = (0..20).map(|_| timeout(secs(1), call(&client, "echo", "b")));
            results.extend(join_all(calls).await);
        }
        steps.small_ones_done.notify_one();
        results
    };
    let (huge, small) = tokio::join!(call(&client, "deploy", "a"), small);

    assert!(small.iter().all(|result| matches!(result, Ok(Ok(_)))), "{small:?}");
    assert!(huge.unwrap().as_bytes().len() > HUGE);
    assert_eq!(rig.server.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn sixty_four_calls_share_one_connection() {
    let rig = Rig::over(Protocol::Http2Tls);
    let all_there = Arc::new(Barrier::new(64));
    rig.mcp.rule(When::tool("deploy"), Times::Always, move |ask| {
        let all_there = all_there.clone();
        async move {
            all_there.wait().await;
            ask.pass().await;
        }
    });
    let client = rig.client();

    let results = timeout(secs(10), calls(&client, "a", 64)).await.unwrap();

    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(rig.server.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_connection_is_found_out_by_ping_and_leaves_its_call_in_doubt() {
    let rig = Rig::over(Protocol::Http2Tls);
    runs_and_hangs(&rig);
    let client = rig.client();

    let began = Instant::now();
    let stalling = async {
        sleep(secs(1)).await;
        rig.server.stall_connections();
    };
    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), stalling);

    assert_interrupted(&rig, &result);
    // The PING goes out after 15 s of silence and is given up 10 s later; the ping of row 19 would need 30 s.
    assert!(began.elapsed() <= secs(27), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stalled_connection_is_not_used_again() {
    let rig = Rig::over(Protocol::Http2Tls);
    let client = rig.client();
    call(&client, "deploy", "a").await.unwrap();
    rig.server.stall_connections();
    sleep(secs(26)).await;

    let began = Instant::now();
    call(&client, "deploy", "b").await.unwrap();

    assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
    assert_eq!(rig.server.connections(), 2);
    assert_eq!(rig.mcp.executions("deploy"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_used_for_60_s_is_closed_and_not_used_again() {
    let rig = Rig::over(Protocol::Http2Tls);
    // Without a standing stream no stream is open, and no PING would find out that the connection is dead.
    rig.mcp.rule(When::listen(), Times::Always, |ask| async { ask.status(405, &[], "").await });
    let client = rig.client();
    call(&client, "echo", "a").await.unwrap();

    sleep(secs(59)).await;
    call(&client, "echo", "b").await.unwrap();
    let before = rig.server.connections();
    sleep(secs(70)).await;

    assert_eq!(before, 1);
    assert_eq!(rig.server.open_connections(), 0);
    call(&client, "echo", "c").await.unwrap();
    assert_eq!(rig.server.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_leaves_the_connection_to_the_others() {
    let rig = Rig::over(Protocol::Http2Tls);
    slow(&rig);
    let client = rig.client();
    client.connect().await.unwrap();

    let cancelled = timeout(secs(1), call(&client, "deploy", "a"));
    let (cancelled, other) = tokio::join!(cancelled, call(&client, "deploy", "b"));
    let later = call(&client, "echo", "c").await;

    assert!(cancelled.is_err());
    assert!(other.is_ok() && later.is_ok());
    assert_eq!(rig.server.connections(), 1);
}

fn assert_interrupted(rig: &Rig, result: &Result<Json, Error>) {
    let error = result.as_ref().unwrap_err();
    assert_eq!(error.call().unwrap().kind, Kind::Interrupted, "{error}");
    assert!(error.may_have_run());
    assert_eq!(rig.mcp.executions("deploy"), 1);
    assert_eq!(rig.count(When::tool("deploy")), 1);
}

/// Makes so many calls of `deploy` at once, with keys of their own.
async fn calls(client: &Client, key: &str, count: usize) -> Vec<Result<Json, Error>> {
    let call = |n| client.request("tools/call", params("deploy", &format!("{key} {n}")));
    join_all((0..count).map(|n| call(n).into_future())).await
}

/// Makes `deploy` take 5 s.
fn slow(rig: &Rig) {
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        sleep(secs(5)).await;
        ask.pass().await;
    });
}

/// Makes `deploy` run and never answer.
fn runs_and_hangs(rig: &Rig) {
    rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
        ask.run();
        ask.reply().1.hold().await;
    });
}

fn refuse(rig: &Rig, times: Times, reason: Reason) {
    rig.mcp.rule(When::tool("deploy"), times, move |ask| async move {
        ask.reply().1.reset_with(reason);
    });
}

fn limit_to_four(rig: &Rig) {
    rig.server.http2(Http2 { max_concurrent_streams: Some(4), ..Http2::default() });
}

/// How many streams a server answers at once.
#[derive(Debug, Default)]
struct Crowd {
    present: AtomicUsize,
    most: AtomicUsize,
}

/// Counts the streams, and makes `deploy` take 1 s.
fn count_streams(rig: &Rig, crowd: &Arc<Crowd>) {
    let crowd = crowd.clone();
    rig.mcp.rule(When::any(), Times::Always, move |ask| {
        let crowd = crowd.clone();
        async move {
            let present = crowd.present.fetch_add(1, Ordering::Relaxed) + 1;
            crowd.most.fetch_max(present, Ordering::Relaxed);
            if When::tool("deploy").holds(&ask.entry) {
                sleep(secs(1)).await;
            }
            ask.pass().await;
            crowd.present.fetch_sub(1, Ordering::Relaxed);
        }
    });
}

/// The progress of a huge answer, and what its last byte waits for.
#[derive(Default)]
struct Steps {
    begun: Notify,
    nearly_sent: Notify,
    small_ones_done: Notify,
}

/// Answers `deploy` with a huge body whose last byte waits for the small answers.
fn answer_hugely(rig: &Rig, steps: &Arc<Steps>) {
    let steps = steps.clone();
    rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
        let steps = steps.clone();
        async move {
            let mut body = ask.result(text(&"x".repeat(HUGE)));
            let last = body.split_off(body.len() - 1);
            let json = http::Response::builder().header("content-type", "application/json");
            let mut stream = ask.reply().1.open(json.body(()).unwrap()).await;
            steps.begun.notify_one();
            stream.send(body).await;
            steps.nearly_sent.notify_one();
            steps.small_ones_done.notified().await;
            stream.finish_with(last).await;
        }
    });
}

/// The size of a huge answer: just under the limit of 16 MiB for one message.
const HUGE: usize = (16 << 20) - 100;
