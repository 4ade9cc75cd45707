//! S3: the answer is handed over at once, its stream is read to the end within bounds, and no caller notices
//! what happens after the answer.
//!
//! python-sdk #2750 closed the stream with the answer, so that every call paid for a connection; the
//! first fix of it reconnected when the rest broke, and delivered the answer twice.

use std::sync::Arc;
use std::time::Duration;

use ridethrough::Client;
use ridethrough::event::{Event, Seen};
use ridethrough_lab::{Protocol, Style, Times, When};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::rig::{Rig, call, millis, secs, text};

on_every_carrier! {
    async fn a_thousand_calls_in_a_row_need_one_connection(rig: Rig) {
        let connections = connections_for_a_thousand_calls(&rig, Style::Sse).await;

        assert!(connections <= 1, "{connections}");
    }

    async fn two_are_enough_when_answer_and_end_come_apart(rig: Rig) {
        let connections = connections_for_a_thousand_calls(&rig, Style::SseApart).await;

        assert!(connections <= 2, "{connections}");
    }

    async fn json_answers_need_one_connection_too(rig: Rig) {
        let connections = connections_for_a_thousand_calls(&rig, Style::Json).await;

        assert!(connections <= 1, "{connections}");
    }

    async fn the_answer_is_handed_over_while_the_stream_is_still_open(rig: Rig) {
        let release = Arc::new(Notify::new());
        let held = release.clone();
        rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
            let held = held.clone();
            async move {
                let mut sse = ask.sse().await;
                sse.answer(None, text("done")).await;
                held.notified().await;
                sse.finish().await;
            }
        });
        let client = rig.client();
        client.connect().await.unwrap();
        let began = Instant::now();

        let result = call(&client, "deploy", "a").await.unwrap();

        assert!(result.as_str().contains("done"));
        assert_eq!(began.elapsed(), Duration::ZERO, "nothing but the answer was waited for");
        release.notify_one();
    }

    async fn an_error_is_as_final_as_a_result(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let error = ask.error(-32000, "out of order");
            let mut sse = ask.sse().await;
            sse.event(Some("1"), std::str::from_utf8(&error).unwrap()).await;
            sse.gone().await;
        });
        let client = rig.client();
        client.connect().await.unwrap();
        let began = Instant::now();

        let error = call(&client, "deploy", "a").await.unwrap_err();
        tokio::time::sleep(secs(10)).await;

        assert_eq!(error.server().unwrap().rpc.message, "out of order");
        assert_eq!(began.elapsed(), secs(10));
        assert_eq!(rig.count(When::resume()), 0);
    }

    async fn a_reset_after_the_answer_changes_nothing(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.prime("1").await;
            sse.answer(Some("2"), text("done")).await;
            // A reset loses what was not read yet: the answer must have arrived before.
            tokio::time::sleep(secs(1)).await;
            sse.reset();
        });
        let client = rig.client();

        one_delivery_and_no_resume_after(&rig, &client, 0).await;
    }

    async fn a_reset_after_the_answer_changes_nothing_after_a_retry_of_zero(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.retry(Duration::ZERO).await;
            sse.prime("1").await;
            sse.answer(Some("2"), text("done")).await;
            // A reset loses what was not read yet: the answer must have arrived before.
            tokio::time::sleep(secs(1)).await;
            sse.reset();
        });
        let client = rig.client();

        one_delivery_and_no_resume_after(&rig, &client, 0).await;
    }

    async fn a_reset_after_the_answer_on_a_resumed_stream_changes_nothing(rig: Rig) {
        let id = Arc::new(std::sync::Mutex::new(json!(null)));
        let asked = id.clone();
        rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
            *asked.lock().unwrap() = ask.id();
            async {
                let mut sse = ask.sse().await;
                sse.prime("1").await;
                sse.cut().await;
            }
        });
        rig.mcp.rule(When::resume(), Times::Always, move |ask| {
            let id = id.lock().unwrap().clone();
            async move {
                let mut sse = ask.sse().await;
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": text("done")});
                sse.message(Some("2"), &answer).await;
                tokio::time::sleep(secs(1)).await;
                sse.reset();
            }
        });
        let client = rig.client();

        one_delivery_and_no_resume_after(&rig, &client, 1).await;
    }

    async fn a_cut_before_the_answer_resumes_with_the_last_id(rig: Rig) {
        let id = Arc::new(std::sync::Mutex::new(json!(null)));
        let asked = id.clone();
        rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
            *asked.lock().unwrap() = ask.id();
            async {
                let mut sse = ask.sse().await;
                sse.prime("first").await;
                sse.message(Some("second"), &log_line()).await;
                sse.cut().await;
            }
        });
        rig.mcp.rule(When::resume(), Times::Once, move |ask| {
            let id = id.lock().unwrap().clone();
            async move {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": text("done")});
                ask.sse().await.event_and_finish(Some("third"), &answer.to_string()).await;
            }
        });
        let client = rig.client();

        let result = call(&client, "deploy", "a").await.unwrap();

        assert!(result.as_str().contains("done"));
        let log = rig.mcp.log();
        let resumes: Vec<_> = log.iter().filter(|entry| When::resume().holds(entry)).collect();
        assert_eq!(resumes.len(), 1);
        assert_eq!(resumes[0].last_event_id.as_deref(), Some("second"));
        assert_eq!(rig.count(When::tool("deploy")), 1);
    }

    async fn streams_that_never_end_leave_no_sockets_behind(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
            let mut sse = ask.sse().await;
            sse.answer(None, text("done")).await;
            sse.gone().await;
        });
        let client = rig.client();

        for _ in 0..100 {
            call(&client, "deploy", "a").await.unwrap();
        }
        tokio::time::sleep(secs(5)).await;

        assert!(rig.server.open_connections() <= 2, "{}", rig.server.open_connections());
    }

    async fn a_server_that_holds_its_streams_open_makes_one_call_wait_and_no_other(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
            let mut sse = ask.sse().await;
            sse.answer(None, text("done")).await;
            sse.gone().await;
        });
        let client = rig.client();
        client.connect().await.unwrap();
        let began = Instant::now();

        for _ in 0..100 {
            call(&client, "deploy", "a").await.unwrap();
        }

        assert!(began.elapsed() <= millis(100), "{:?}", began.elapsed());
    }

    async fn a_stream_that_babbles_after_the_answer_is_left_after_64_kib(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.answer(None, text("done")).await;
            while sse.comment(&"x".repeat(16 * 1024)).await {}
        });
        let client = rig.client();

        call(&client, "deploy", "a").await.unwrap();
        tokio::time::sleep(secs(1)).await;
        call(&client, "echo", "b").await.unwrap();

        assert!(rig.server.open_connections() <= 2, "{}", rig.server.open_connections());
    }

    async fn an_answer_on_another_stream_ends_the_call_and_its_own_stream(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let id = ask.id();
            let mcp = ask.mcp().clone();
            let mut sse = ask.sse().await;
            sse.comment("begun").await;
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": text("done")});
            while mcp.push(answer.clone()).await == 0 {
                tokio::time::sleep(secs(1)).await;
            }
            sse.gone().await;
        });
        let client = rig.client();

        let result = call(&client, "deploy", "a").await.unwrap();
        tokio::time::sleep(secs(5)).await;

        assert!(result.as_str().contains("done"));
        assert!(call(&client, "echo", "b").await.is_ok());
        assert!(rig.server.open_connections() <= 2, "{}", rig.server.open_connections());
    }
}

on_every_socket! {
    async fn a_thousand_calls_in_a_row_need_one_connection_on_sockets(rig: Rig) {
        let connections = connections_for_a_thousand_calls(&rig, Style::Sse).await;

        assert!(connections <= 1, "{connections}");
    }

    async fn two_are_enough_when_answer_and_end_come_apart_on_sockets(rig: Rig) {
        let connections = connections_for_a_thousand_calls(&rig, Style::SseApart).await;

        assert!(connections <= 2, "{connections}");
    }

    async fn sixty_four_calls_at_once_need_sixty_four_connections_on_sockets(rig: Rig) {
        rig.mcp.answers(Style::Sse);
        let client = rig.client();
        client.connect().await.unwrap();

        let workers = (0..64).map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    call(&client, "echo", "a").await.unwrap();
                }
            })
        });
        for worker in futures_util::future::join_all(workers).await {
            worker.unwrap();
        }

        let most = if rig.is_http2() { 1 } else { 64 + standing(&rig) };
        assert!(rig.server.connections() <= most, "{}", rig.server.connections());
    }
}

/// Returns how many connections the standing stream has to itself: one on HTTP/1.1, none on HTTP/2.
fn standing(rig: &Rig) -> u64 {
    if rig.is_http2() { 0 } else { 1 }
}

/// Makes a thousand calls one after the other, each run once, and returns how many connections they used,
/// without the standing stream's.
async fn connections_for_a_thousand_calls(rig: &Rig, style: Style) -> u64 {
    rig.mcp.answers(style);
    let client = rig.client();
    for _ in 0..1000 {
        call(&client, "echo", "a").await.unwrap();
    }
    assert_eq!(rig.mcp.executions("echo"), 1000);
    rig.server.connections() - standing(rig)
}

/// Calls `deploy`, then waits: the call must have ended once, with so many resumes, and the client must still
/// work.
async fn one_delivery_and_no_resume_after(rig: &Rig, client: &Client, resumes: usize) {
    let mut events = client.events();

    let result = call(client, "deploy", "a").await.unwrap();
    tokio::time::sleep(secs(30)).await;

    assert!(result.as_str().contains("done"));
    assert_eq!(rig.count(When::resume()), resumes);
    assert_eq!(rig.count(When::tool("deploy")), 1);
    let mut endings = 0;
    while let Some(seen) = events.try_next() {
        endings += usize::from(matches!(seen, Seen::Event { event: Event::CallEnded { .. }, .. }));
    }
    assert_eq!(endings, 1);
    assert!(call(client, "echo", "b").await.is_ok());
}

fn log_line() -> serde_json::Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}})
}
