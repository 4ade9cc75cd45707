//! A stream that breaks, and what follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ridethrough::error::{Delivery, Kind};
use ridethrough::{Client, Error, Json};
use ridethrough_lab::{Mcp, OldMcp, Protocol, Service, Times, Turn, When};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::rig::{Rig, call, fallbacks, secs, settle, text};

on_both! {
    async fn a_call_in_flight_is_in_doubt_and_one_that_is_safe_is_repeated(rig: Rig) {
        let client = rig.client();
        client.tools().await.unwrap();
        rig.old.never_answers("deploy");
        rig.old.mcp().rule(When::tool("read"), Times::Once, |ask| async move {
            ask.run();
            ask.status(202, &[], "Accepted").await;
        });
        let (unsafe_one, safe_one) = (begun(&client, "deploy"), begun(&client, "read"));
        settle().await;

        rig.old.cut_streams();

        let error = unsafe_one.await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (Some(Kind::Interrupted), true));
        assert!(safe_one.await.unwrap().is_ok());
        assert_eq!(rig.old.mcp().executions("deploy"), 1);
        assert_eq!(rig.old.mcp().executions("read"), 2);
        // The client remembers HTTP+SSE: no POST to the stream's own address, and one new stream.
        assert_eq!(rig.count(&to_the_streams_address(When::method("initialize"))), 1);
        assert_eq!((rig.count(&When::listen()), rig.old.streams()), (2, 1));
    }

    async fn the_next_call_makes_a_new_stream_by_itself(rig: Rig) {
        let client = rig.client();
        let mut events = client.events();
        call(&client, "deploy", "a").await.unwrap();

        rig.old.cut_streams();
        settle().await;
        let answer = call(&client, "deploy", "b").await.unwrap();

        assert_eq!(text(&answer), r#"{"key":"b"}"#);
        assert_eq!((rig.count(&When::listen()), fallbacks(&mut events)), (2, 1));
        assert_eq!(rig.old.mcp().executions("deploy"), 2);
    }

    async fn whoever_listens_gets_a_new_stream_without_a_call(rig: Rig) {
        let client = rig.client();
        client.keep_connected();
        settle().await;
        assert_eq!(rig.old.streams(), 1);

        rig.old.cut_streams();
        tokio::time::sleep(secs(5)).await;

        assert_eq!(rig.old.streams(), 1);
    }

    async fn a_stream_that_breaks_before_anybody_listened_is_missed_all_the_same(rig: Rig) {
        let old = rig.old.clone();
        let initialized = When::notification("notifications/initialized");
        rig.old.mcp().rule(initialized, Times::Once, move |ask| {
            let old = old.clone();
            async move {
                old.cut_streams();
                settle().await;
                ask.status(202, &[], "Accepted").await;
            }
        });
        let client = rig.client();
        client.keep_connected();

        tokio::time::sleep(secs(10)).await;

        assert_eq!((rig.count(&When::listen()), rig.old.streams()), (2, 1));
    }

    /// The server no longer knows the session when `initialize` comes, which says nothing about what it
    /// speaks.
    async fn a_stream_that_ends_once_it_has_named_its_address_is_opened_anew(rig: Rig) {
        rig.old.mcp().rule(When::listen(), Times::Once, |ask| async move {
            let mut sse = ask.sse().await;
            sse.raw("event: endpoint\ndata: /messages?session_id=gone\n\n").await;
            sse.finish().await;
        });

        let result = call(&rig.client(), "deploy", "a").await.unwrap();

        assert_eq!(text(&result), r#"{"key":"a"}"#);
        assert_eq!(rig.old.mcp().executions("deploy"), 1);
    }

    async fn silence_does_not_make_a_known_server_another_one(rig: Rig) {
        let client = rig.client();
        call(&client, "deploy", "a").await.unwrap();
        rig.old.mcp().rule(When::listen(), Times::Once, |ask| async move {
            ask.reply().1.hold().await;
        });
        rig.old.cut_streams();
        settle().await;

        call(&client, "deploy", "b").await.unwrap();

        // No `initialize` is sent to the stream's address.
        assert_eq!(rig.count(&to_the_streams_address(When::method("initialize"))), 1);
        assert_eq!((rig.count(&When::listen()), rig.old.streams()), (3, 1));
    }

    async fn a_message_that_the_server_refuses_for_its_session_is_sent_on_a_new_stream(rig: Rig) {
        let client = rig.client();
        call(&client, "deploy", "a").await.unwrap();
        for when in [When::tool("deploy"), When::method("ping")] {
            rig.old.mcp().rule(when, Times::Once, |ask| async move {
                ask.status(404, &[], "Could not find session").await;
            });
        }

        call(&client, "deploy", "b").await.unwrap();

        settle().await;
        assert_eq!(rig.old.mcp().executions_of("deploy", "b"), 1);
        assert_eq!((rig.count(&When::listen()), rig.old.streams()), (2, 1));
    }

    async fn a_message_whose_fate_is_unknown_is_in_doubt(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        rig.old.mcp().rule(When::tool("deploy"), Times::Once, |ask| async move {
            ask.status(502, &[], "").await;
        });

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.call().unwrap().delivery, Delivery::Unknown);
        assert_eq!(rig.count(&When::tool("deploy")), 1);
    }

    async fn a_stream_that_says_nothing_any_more_is_left_for_a_new_one(rig: Rig) {
        let client = rig.client();
        client.tools().await.unwrap();
        // Everything on this stream is lost from now on, and the server accepts every message.
        let deaf = When::matches(|it| it.target.ends_with("old-session-1"));
        rig.old.mcp().rule(deaf, Times::Always, |ask| async move {
            ask.status(202, &[], "Accepted").await;
        });

        let answer = call(&client, "read", "a").await.unwrap();

        assert_eq!(text(&answer), r#"{"key":"a"}"#);
        assert_eq!(rig.count(&When::listen()), 2);
    }

    async fn an_address_that_changes_in_mid_stream_ends_the_stream(rig: Rig) {
        let client = rig.client();
        client.tools().await.unwrap();
        rig.old.never_answers("deploy");
        let pending = begun(&client, "deploy");
        settle().await;

        rig.old.say(b"event: endpoint\ndata: /messages?session_id=old-session-1\n\n");
        settle().await;
        assert!(!pending.is_finished(), "the same address again is no news");
        rig.old.say(b"event: endpoint\ndata: /messages?session_id=s3cret\n\n");

        let error = pending.await.unwrap().unwrap_err();
        assert!(error.may_have_run());
        assert!(error.to_string().contains("another address"), "{error}");
        assert!(!format!("{error:?} {}", error.report()).contains("s3cret"));
        assert!(call(&client, "echo", "a").await.is_ok());
    }

    async fn an_event_beyond_the_limit_ends_the_stream_and_is_told(rig: Rig) {
        let client = rig.builder().message_limit(4096).build().unwrap();
        client.connect().await.unwrap();
        rig.old.never_answers("deploy");
        let pending = begun(&client, "deploy");
        settle().await;

        rig.old.say(format!("data: {}\n\n", "x".repeat(5000)).as_bytes());

        let error = pending.await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (Some(Kind::TooLarge), true));
        assert!(call(&client, "echo", "a").await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_upgraded_is_followed_when_it_refuses_the_stream() {
    let (old, new) = (OldMcp::new(), Mcp::new());
    let is_upgraded = Arc::new(AtomicBool::new(false));
    let service = {
        let (old, new, is_upgraded) = (old.clone(), new.clone(), is_upgraded.clone());
        move |turn: Turn| {
            if is_upgraded.load(Ordering::Relaxed) { new.serve(turn) } else { old.serve(turn) }
        }
    };
    let rig = Rig::serving(Protocol::Http1, old, service);
    let client = rig.client();
    call(&client, "deploy", "a").await.unwrap();

    is_upgraded.store(true, Ordering::Relaxed);
    rig.old.cut_streams();
    settle().await;
    let answer = call(&client, "deploy", "b").await.unwrap();

    assert_eq!(text(&answer), r#"{"key":"b"}"#);
    assert_eq!((rig.old.mcp().executions("deploy"), new.executions("deploy")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_rolled_back_is_followed_too() {
    let (old, new) = (OldMcp::new(), Mcp::new());
    let is_rolled_back = Arc::new(AtomicBool::new(false));
    let service = {
        let (old, new, is_rolled_back) = (old.clone(), new.clone(), is_rolled_back.clone());
        move |turn: Turn| {
            if is_rolled_back.load(Ordering::Relaxed) { old.serve(turn) } else { new.serve(turn) }
        }
    };
    let rig = Rig::serving(Protocol::Http1, old, service);
    let client = rig.client();
    let mut events = client.events();
    call(&client, "deploy", "a").await.unwrap();

    is_rolled_back.store(true, Ordering::Relaxed);
    rig.old.refuses_posts_by(404);
    let answer = call(&client, "deploy", "b").await.unwrap();

    assert_eq!(text(&answer), r#"{"key":"b"}"#);
    assert_eq!(fallbacks(&mut events), 1);
}

/// Starts a call.
fn begun(client: &Client, tool: &str) -> JoinHandle<Result<Json, Error>> {
    let params = json!({"name": tool, "arguments": {}});
    let call = client.request("tools/call", params);
    tokio::spawn(async move { call.await })
}

fn to_the_streams_address(when: When) -> When {
    when.and(When::matches(|it| it.target == "/sse"))
}
