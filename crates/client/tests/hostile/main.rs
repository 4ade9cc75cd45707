//! Servers that are hostile, or broken enough to do harm by accident.
//!
//! Whatever they send, the client returns a typed error or the right answer, does not panic, and never uses
//! more memory than twice the message limit and 16 MiB, the server's own share in this process included.
//! After each of them the client still works.

#![cfg(test)]

#[path = "../faults/rig.rs"]
#[macro_use]
#[allow(dead_code, unused_macros, reason = "the fault tests need more of the rig than these")]
mod rig;
mod crowd;

use bytes::Bytes;
use http::Response;
use peak_alloc::PeakAlloc;
use ridethrough::error::Kind;
use ridethrough::{Error, Json};
use ridethrough_lab::{Ask, Protocol, Stream, Times, When};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use rig::{Rig, call, millis, params, secs, text};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

on_every_carrier! {
    async fn a_line_of_a_gibibyte(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let stream = open(ask, "text/event-stream").await;
            flood(stream, "data: ", "x").await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_says_its_limit(&error);
    }

    async fn comments_without_end(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            while sse.comment(&"x".repeat(64 * 1024)).await {
                tokio::time::sleep(millis(10)).await;
            }
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_eq!(kind(&error), Kind::DeadlinePassed);
    }

    async fn events_without_end(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            let noise = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x".repeat(4096)}});
            while sse.message(None, &noise).await {
                tokio::time::sleep(millis(1)).await;
            }
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_eq!(kind(&error), Kind::DeadlinePassed);
    }

    async fn a_json_body_of_a_gibibyte(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let stream = open(ask, "application/json").await;
            flood(stream, "[\"", "x").await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_says_its_limit(&error);
    }

    async fn an_error_body_of_a_gibibyte(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let (_, reply) = ask.reply();
            let head = Response::builder().status(400).header("content-type", "text/plain");
            let stream = reply.open(head.body(()).unwrap()).await;
            flood(stream, "sorry ", "x").await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_eq!(kind(&error), Kind::Rejected { status: 400 });
    }

    async fn ten_thousand_headers(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let answer = ask.result(text("done"));
            let (_, reply) = ask.reply();
            let mut head = Response::builder().status(200).header("content-type", "application/json");
            for number in 0..10_000 {
                head = head.header(format!("x-{number}"), "y");
            }
            reply.respond(head.body(answer).unwrap()).await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        let is_typed = matches!(kind(&error), Kind::PeerMisbehaved | Kind::Interrupted);
        assert!(is_typed, "{error}");
        assert!(error.may_have_run());
    }

    async fn json_that_is_a_hundred_thousand_deep(rig: Rig) {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let sent = deep.clone();
        rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{sent}}}"#, ask.id());
            async { ask.json(body).await }
        });

        let result = ask_within_memory(&rig).await.unwrap();

        assert_eq!(result.as_str(), deep, "it is the answer, and passes as it is");
    }

    async fn a_retry_beyond_all_clocks(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.raw("id: 1\nretry: 18446744073709551615\ndata:\n\n").await;
            sse.finish().await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert!(error.call().unwrap().retry_after.is_some());
        assert!(error.may_have_run());
    }

    async fn a_retry_after_of_thirty_years(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            ask.status(429, &[("retry-after", "1e9")], "").await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_eq!(kind(&error), Kind::Rejected { status: 429 });
        assert_eq!(error.call().unwrap().retry_after, Some(secs(1_000_000_000)));
        assert!(!error.may_have_run());
    }

    async fn answers_to_calls_that_nobody_made(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            for id in [json!(999_999), json!("abc"), Value::Null] {
                sse.message(None, &json!({"jsonrpc": "2.0", "id": id, "result": text("wrong")})).await;
            }
            sse.answer_and_finish(text("right")).await;
        });

        let result = ask_within_memory(&rig).await.unwrap();

        assert!(result.as_str().contains("right"));
    }

    async fn the_same_answer_twice(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.answer(None, text("first")).await;
            sse.answer(None, text("second")).await;
            sse.finish().await;
        });

        let result = ask_within_memory(&rig).await.unwrap();

        assert!(result.as_str().contains("first"));
    }

    async fn accepted_and_then_nothing(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            ask.status(202, &[], "").await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_eq!(kind(&error), Kind::PeerMisbehaved);
        assert!(error.call().unwrap().elapsed <= secs(11));
    }

    async fn a_page_for_people(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            ask.status(200, &[("content-type", "text/html")], "<html>welcome</html>").await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_eq!(kind(&error), Kind::PeerMisbehaved);
    }

    async fn an_event_id_that_no_header_can_carry(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.raw("id: a\u{1}b\ndata:\n\n").await;
            sse.finish().await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert!(error.may_have_run());
    }

    async fn bytes_that_are_no_text(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut sse = ask.sse().await;
            sse.raw(Bytes::from_static(b"\xef\xbb\xbf:\xff\xfe\n\ndata: \xff\xfe{\r\rretry: x\nid\n\n")).await;
            sse.answer_and_finish(text("right")).await;
        });

        let result = ask_within_memory(&rig).await.unwrap();

        assert!(result.as_str().contains("right"));
    }

    async fn unfinished_events_with_comments_stay_within_the_limit_of_the_link(rig: Rig) {
        let _alone = alone().await;
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
            let mut sse = ask.sse().await;
            // A comment does not end an event: its bytes so far are still held.
            for _ in 0..24 {
                sse.raw(format!("data: {}\n:\n", "x".repeat(64 * 1024))).await;
            }
            sse.gone().await;
        });
        let client = rig.builder().message_limit(2 << 20).build().unwrap();
        client.connect().await.unwrap();
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();

        let calls = (0..40).map(|_| {
            client.request("tools/call", params("deploy", "a")).timeout(secs(5)).answer()
        });
        futures_util::future::join_all(calls).await;

        let peak = ALLOCATOR.peak_usage() - before;
        // The 6 MiB of the link's buffers and the 2 of a message grow by doubling, and there are the pipes of
        // 40 calls.
        assert!(peak < (2 * (6 + 2) + 32) << 20, "{} MiB", peak >> 20);
    }

    async fn a_body_in_crumbs(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let mut stream = open(ask, "application/json").await;
            for _ in 0..100_000 {
                if !stream.send(" ").await {
                    return;
                }
                // Without this, the small pieces would pile up on the server's side of this process.
                tokio::task::yield_now().await;
            }
            stream.finish().await;
        });

        let error = ask_within_memory(&rig).await.unwrap_err();

        assert_eq!(kind(&error), Kind::PeerMisbehaved);
    }

    async fn many_large_answers_at_once_stay_within_the_limit_of_the_link(rig: Rig) {
        let _alone = alone().await;
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
            let mut stream = open(ask, "application/json").await;
            stream.send("\"").await;
            // Each stays below the limit of a message and never ends.
            for _ in 0..15 * 16 {
                if !stream.send(vec![b'x'; 64 * 1024]).await {
                    return;
                }
            }
            stream.gone().await;
        });
        let client = rig.client();
        client.connect().await.unwrap();
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();

        let calls = (0..16).map(|_| {
            client.request("tools/call", params("deploy", "a")).timeout(secs(5)).answer()
        });
        let results = futures_util::future::join_all(calls).await;

        let peak = ALLOCATOR.peak_usage() - before;
        assert!(results.iter().all(Result::is_err));
        // The 48 MiB of a link's buffers and the 16 of a message grow by doubling, and there are the pipes of
        // 16 calls.
        assert!(peak < (2 * (48 + 16) + 32) << 20, "{} MiB", peak >> 20);
        assert!(call(&client, "echo", "b").await.is_ok());
    }
}

/// What is kept of a message must not keep the rest of it in memory.
#[tokio::test(start_paused = true)]
async fn notifications_that_nobody_reads_do_not_keep_their_ballast() {
    let rig = Rig::over(Protocol::Http1);
    let client = small(&rig).build().unwrap();
    let _unread = client.notifications();

    let peak = peak_of(
        &rig,
        &client,
        |_, ballast| json!({"jsonrpc": "2.0", "method": "x", "params": {}, "ballast": ballast}),
    )
    .await;

    assert!(peak < UNREAD, "{} MiB", peak >> 20);
}

#[tokio::test(start_paused = true)]
async fn names_of_notifications_that_nobody_reads_count_as_well() {
    let rig = Rig::over(Protocol::Http1);
    let client = small(&rig).build().unwrap();
    let _unread = client.inbox();

    let peak =
        peak_of(&rig, &client, |_, ballast| json!({"jsonrpc": "2.0", "method": ballast})).await;

    assert!(peak < UNREAD, "{} MiB", peak >> 20);
}

#[tokio::test(start_paused = true)]
async fn questions_that_handlers_work_on_stay_within_the_limit_of_the_link() {
    let rig = Rig::over(Protocol::Http1);
    let builder = small(&rig);
    let client = builder.on_request("own", |_| std::future::pending()).build().unwrap();

    let peak = peak_of(&rig, &client, |number, ballast| {
        json!({"jsonrpc": "2.0", "id": number, "method": "own", "params": {"a": ballast}})
    })
    .await;

    assert!(peak < UNREAD, "{} MiB", peak >> 20);
}

#[tokio::test(start_paused = true)]
async fn questions_that_were_read_and_not_answered_do_not_keep_their_text() {
    let rig = Rig::over(Protocol::Http1);
    let client = small(&rig).build().unwrap();
    let mut inbox = client.inbox();
    tokio::spawn(async move { while inbox.next().await.is_some() {} });

    let peak = peak_of(&rig, &client, |number, ballast| {
        json!({"jsonrpc": "2.0", "id": number, "method": "own", "params": {"a": ballast}})
    })
    .await;

    assert!(peak < UNREAD, "{} MiB", peak >> 20);
}

fn small(rig: &Rig) -> ridethrough::ClientBuilder {
    rig.builder().message_limit(1 << 20)
}

/// Returns how much memory a hundred such messages cost, of almost a mebibyte each.
async fn peak_of(
    rig: &Rig,
    client: &ridethrough::Client,
    message: fn(usize, &str) -> Value,
) -> usize {
    let _alone = alone().await;
    rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| async move {
        let mut sse = ask.sse().await;
        let ballast = "x".repeat(1_000_000);
        for number in 0..100 {
            sse.message(None, &message(number, &ballast)).await;
            tokio::time::sleep(millis(10)).await;
        }
        sse.answer_and_finish(text("done")).await;
    });
    client.connect().await.unwrap();
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();

    client.request("tools/call", params("deploy", "a")).await.unwrap();

    ALLOCATOR.peak_usage() - before
}

/// The bound for three messages of a mebibyte, twice because buffers double, and the server's own share.
const UNREAD: usize = (2 * 3 + 16) << 20;

/// Calls `deploy`, for which a rule sends something hostile; then checks that the client still works, and
/// that the bound on memory was kept.
async fn ask_within_memory(rig: &Rig) -> Result<Json, Error> {
    let _alone = alone().await;
    let client = rig.client();
    client.connect().await.unwrap();
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();

    let call = client.request("tools/call", params("deploy", "a")).timeout(secs(20));
    let result = tokio::time::timeout(secs(21), call).await.expect("every call ends in time");

    let peak = ALLOCATOR.peak_usage() - before;
    assert!(peak < 2 * MESSAGE_LIMIT + (16 << 20), "{} MiB", peak >> 20);
    let after = client.request("tools/call", params("echo", "b")).await;
    assert!(after.is_ok(), "{after:?}");
    assert_eq!(rig.mcp.executions("echo"), 1);
    result
}

/// Waits until no other test runs, because the allocator counts for the whole process.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

async fn open(ask: Ask, content: &str) -> Stream {
    let (_, reply) = ask.reply();
    let head = Response::builder().status(200).header("content-type", content);
    reply.open(head.body(()).unwrap()).await
}

/// Sends a gibibyte, or as much as the client accepts.
async fn flood(mut stream: Stream, first: &'static str, then: &str) {
    let piece = Bytes::from(then.repeat(64 * 1024));
    let mut is_there = stream.send(first).await;
    for _ in 0..(1 << 30) / piece.len() {
        if !is_there {
            return;
        }
        is_there = stream.send(piece.clone()).await;
    }
    stream.finish().await;
}

/// Checks that the error does not blame the server, and says how to receive such an answer.
fn assert_says_its_limit(error: &Error) {
    assert_eq!(kind(error), Kind::TooLarge);
    assert!(error.to_string().contains("of more than 16 MiB"), "{error}");
    let report = error.call().unwrap().report();
    assert!(report.contains("`--max-message` or `ClientBuilder::message_limit`"), "{report}");
    assert!(error.may_have_run());
}

fn kind(error: &Error) -> Kind {
    error.call().unwrap_or_else(|| panic!("{error}")).kind
}

const MESSAGE_LIMIT: usize = 16 << 20;
