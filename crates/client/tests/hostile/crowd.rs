//! Many answers at once, each within the limit of a message and together beyond the link's memory: they are
//! read one after the other, and all of them arrive.

use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::event::Delivered;
use ridethrough::{Client, Error};
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::rig::{Rig, call, millis, params, secs};
use crate::{ALLOCATOR, alone, open};

on_every_carrier! {
    async fn a_hundred_answers_of_a_mebibyte_at_once_are_all_delivered(rig: Rig) {
        let _alone = alone().await;
        rig.mcp.rule(When::tool("json"), Times::Always, |ask| mebibyte(ask, Form::Json));
        rig.mcp.rule(When::tool("sse"), Times::Always, |ask| mebibyte(ask, Form::Sse));
        let client = rig.client();
        client.connect().await.unwrap();
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();

        let tools = ["json", "sse"].into_iter().cycle().take(100);
        let results = join_all(tools.map(|tool| length(&client, tool))).await;

        let peak = ALLOCATOR.peak_usage() - before;
        for result in results {
            assert!(result.unwrap() > MEBIBYTE);
        }
        // The limits of the link and of a message; buffers double, and there are the pipes and windows of
        // 100 calls.
        assert!(peak < (2 * (48 + 16) + 64) << 20, "{} MiB", peak >> 20);
    }

    async fn calls_that_wait_for_memory_hold_up_neither_the_link_nor_small_answers(rig: Rig) {
        let _alone = alone().await;
        rig.mcp.rule(When::tool("endless"), Times::Always, never_ends);
        rig.mcp.rule(When::tool("json"), Times::Always, |ask| mebibyte(ask, Form::Json));
        let client = rig.client();
        let mut inbox = client.inbox();
        client.connect().await.unwrap();
        let stuck: Vec<_> = (0..60).map(|_| {
            client.request("tools/call", params("endless", "a")).timeout(secs(300)).answer()
        }).collect();
        let waiting = tokio::spawn({
            let client = client.clone();
            async move { length(&client, "json").await }
        });
        sleep(secs(1)).await;

        let told = json!({"jsonrpc": "2.0", "method": "notifications/told"});
        rig.mcp.push(told).await;
        let heard = timeout(secs(1), inbox.next()).await.expect("the standing stream is read");
        let small = timeout(secs(1), call(&client, "echo", "a")).await.expect("it is small");

        assert!(matches!(heard, Some(Delivered::Notification { .. })), "{heard:?}");
        assert!(small.is_ok(), "{small:?}");
        assert!(!waiting.is_finished());
        // Calls that were given up make room for the others.
        drop(stuck);
        let length = timeout(secs(1), waiting).await.expect("there is room").unwrap();
        assert!(length.unwrap() > MEBIBYTE);
    }
}

/// A call that waits for memory has not been abandoned by its server.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_memory_is_not_taken_for_one_whose_server_is_silent() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("endless"), Times::Always, never_ends);
    rig.mcp.rule(When::tool("json"), Times::Always, |ask| mebibyte(ask, Form::Json));
    let client = rig.client();
    client.connect().await.unwrap();
    let stuck: Vec<_> = (0..60)
        .map(|_| client.request("tools/call", params("endless", "a")).timeout(secs(900)).answer())
        .collect();
    sleep(secs(1)).await;
    let waiting = tokio::spawn({
        let client = client.clone();
        let request = client.request("tools/call", params("json", "a"));
        async move { request.timeout(secs(900)).await.map(|result| result.as_str().len()) }
    });

    sleep(secs(400)).await;
    assert!(!waiting.is_finished());
    drop(stuck);

    let length = timeout(secs(1), waiting).await.expect("there is room").unwrap();
    assert!(length.unwrap() > MEBIBYTE);
}

/// The framing of an answer.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Sse,
}

/// Returns the length of a tool's result; the result itself is neither kept nor counted.
async fn length(client: &Client, tool: &str) -> Result<usize, Error> {
    Ok(call(client, tool, "a").await?.as_str().len())
}

/// Answers with a mebibyte, in pieces that are not kept either.
async fn mebibyte(ask: Ask, form: Form) {
    let (content, before, after) = match form {
        Form::Json => ("application/json", "", ""),
        Form::Sse => ("text/event-stream", "data: ", "\n\n"),
    };
    let head = format!(r#"{before}{{"jsonrpc":"2.0","id":{},"result":{{"text":""#, ask.id());
    let mut stream = open(ask, content).await;
    stream.send(head).await;
    for _ in 0..MEBIBYTE / PIECE.len() {
        if !stream.send(&PIECE[..]).await {
            return;
        }
        tokio::task::yield_now().await;
    }
    stream.finish_with(format!("\"}}}}{after}")).await;
}

/// Begins an answer of almost a mebibyte, and never ends it.
async fn never_ends(ask: Ask) {
    let mut stream = open(ask, "application/json").await;
    for _ in 0..MEBIBYTE / PIECE.len() - 1 {
        if !stream.send(&PIECE[..]).await {
            return;
        }
        tokio::task::yield_now().await;
    }
    // The server is slow, not silent: it gives a sign of life now and then.
    while stream.send(" ").await {
        sleep(PAUSE).await;
    }
}

const MEBIBYTE: usize = 1 << 20;
static PIECE: [u8; 16 * 1024] = [b'x'; 16 * 1024];
const PAUSE: Duration = millis(5000);
