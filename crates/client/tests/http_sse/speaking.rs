//! HTTP+SSE without faults.

use futures_util::future::join_all;
use http::Method;
use ridethrough::credentials::StaticToken;
use ridethrough::event::Delivered;
use ridethrough::model::Root;
use ridethrough::policy::ReadRate;
use ridethrough::server::{Eras, Version};
use ridethrough_lab::{Ask, Protocol, Times, What, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::{Rig, call, fallbacks, secs, settle, text};

on_both! {
    async fn a_server_that_refuses_the_post_is_spoken_to_by_its_stream(rig: Rig) {
        let client = rig.client();
        let mut events = client.events();

        let server = client.connect().await.unwrap();
        let answer = call(&client, "echo", "a").await.unwrap();

        assert_eq!(server.version, Version::V2024_11_05);
        assert_eq!(text(&answer), r#"{"key":"a"}"#);
        assert_eq!((fallbacks(&mut events), rig.old.streams()), (1, 1));
        // One refused POST, one GET, and everything else at the address that the server named.
        let (to_messages, others): (Vec<_>, Vec<_>) =
            rig.log().into_iter().partition(|it| it.target == "/messages?session_id=old-session-1");
        let others: Vec<_> = others.iter().map(|it| (&it.http, &*it.target)).collect();
        assert_eq!(others, [(&Method::POST, "/sse"), (&Method::GET, "/sse")]);
        for entry in &to_messages {
            assert_eq!(entry.header("mcp-session-id"), None);
            assert_eq!(entry.header("mcp-protocol-version"), None);
        }
        assert_eq!(to_messages.len(), 3, "initialize, initialized and the call");
    }

    async fn it_is_found_by_a_client_of_either_era_too(rig: Rig) {
        let client = rig.builder().eras(Eras::Either).build().unwrap();
        let mut events = client.events();

        call(&client, "echo", "a").await.unwrap();

        assert_eq!(fallbacks(&mut events), 1);
    }

    async fn each_call_has_its_own_answer(rig: Rig) {
        let client = rig.client();
        let keys: Vec<_> = (0..50).map(|key| key.to_string()).collect();

        let answers = join_all(keys.iter().map(|key| call(&client, "echo", key))).await;

        for (key, answer) in keys.iter().zip(answers) {
            assert_eq!(text(&answer.unwrap()), json!({"key": key}).to_string());
        }
        assert_eq!(rig.old.streams(), 1);
    }

    async fn an_answer_may_overtake_the_word_that_the_call_was_taken(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        let old = rig.old.clone();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, move |ask: Ask| {
            let old = old.clone();
            async move {
                let answer = ask.result(json!({"content": [{"type": "text", "text": "early"}]}));
                old.push(&serde_json::from_slice(&answer).unwrap());
                tokio::time::sleep(secs(5)).await;
                ask.status(202, &[], "Accepted").await;
            }
        });
        let began = Instant::now();

        let answer = call(&client, "echo", "a").await.unwrap();

        assert_eq!(text(&answer), "early");
        assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
    }

    async fn the_server_tells_and_asks_on_its_stream(rig: Rig) {
        let client = rig.builder().roots([Root::new("file:///work")]).build().unwrap();
        let mut inbox = client.inbox();
        client.connect().await.unwrap();

        rig.old.push(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        rig.old.push(&json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}));

        let Some(Delivered::Notification { method, .. }) = inbox.next().await else { panic!() };
        assert_eq!(&*method, "notifications/tools/list_changed");
        settle().await;
        let answers: Vec<Value> = rig.log().iter().filter(|it| it.what == What::Response)
            .map(|it| serde_json::from_slice(&it.body).unwrap()).collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["id"], "q");
        assert_eq!(answers[0]["result"]["roots"][0]["uri"], "file:///work");
    }

    async fn progress_comes_before_the_answer_of_its_call(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        let old = rig.old.clone();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, move |ask: Ask| {
            let old = old.clone();
            async move {
                let token = ask.params()["_meta"]["progressToken"].clone();
                let params = json!({"progressToken": token, "progress": 1});
                let answer = ask.result(json!({"content": []}));
                ask.status(202, &[], "Accepted").await;
                old.push(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
                old.push(&serde_json::from_slice(&answer).unwrap());
            }
        });
        let params = json!({"name": "echo", "arguments": {}});

        let (call, mut progress) = client.request("tools/call", params).with_progress();
        call.await.unwrap();

        assert_eq!(progress.next().await.unwrap().progress, 1.0);
    }

    // What all servers together may cost a gateway holds for this kind of server, too.
    async fn its_one_stream_is_read_at_the_rate_that_clients_share(rig: Rig) {
        let client = rig.builder().read_rate(ReadRate::new(1 << 20, 0)).build().unwrap();
        client.connect().await.unwrap();
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "small"}});
        (0..200).for_each(|_| rig.old.push(&log));
        let began = Instant::now();

        assert!(call(&client, "echo", "a").await.is_ok());

        // 600 lines of 8 KiB each, at 1 MiB a second, without the first 64 KiB.
        assert!((secs(4)..secs(6)).contains(&began.elapsed()), "{:?}", began.elapsed());
    }

    // The SDK for Java does so: it answers the POST when the tool is done, and takes its end for a
    // cancellation.
    async fn progress_does_not_end_a_post_that_waits_for_its_tool(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        let old = rig.old.clone();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, move |ask: Ask| {
            let old = old.clone();
            async move {
                let token = ask.params()["_meta"]["progressToken"].clone();
                let params = json!({"progressToken": token, "progress": 1});
                old.push(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
                let answer = ask.result(json!({"content": [{"type": "text", "text": "done"}]}));
                let (_, reply) = ask.reply();
                tokio::select! {
                    () = reply.hold() => {}
                    () = tokio::time::sleep(secs(10)) => {
                        old.push(&serde_json::from_slice(&answer).unwrap());
                    }
                }
            }
        });
        let params = json!({"name": "echo", "arguments": {}});

        let (call, mut progress) = client.request("tools/call", params).with_progress();
        let answer = call.await.unwrap();

        assert_eq!(text(&answer), "done");
        assert_eq!(progress.next().await.unwrap().progress, 1.0);
    }

    async fn a_message_of_several_lines_is_one_message(rig: Rig) {
        let client = rig.client();
        let mut inbox = client.inbox();
        client.connect().await.unwrap();

        rig.old.say(b"data: {\ndata:  \"jsonrpc\": \"2.0\",\ndata: \"method\": \"notifications/x\"}\n\n");

        let Some(Delivered::Notification { method, .. }) = inbox.next().await else { panic!() };
        assert_eq!(&*method, "notifications/x");
    }

    async fn credentials_go_with_the_stream_and_with_every_message(rig: Rig) {
        rig.old.mcp().require_bearer(Some("t0ken"));
        let token = StaticToken::new("t0ken").unwrap();
        let client = rig.builder().credentials(token).build().unwrap();

        call(&client, "echo", "a").await.unwrap();

        for entry in rig.log() {
            assert_eq!(entry.header("authorization"), Some("Bearer t0ken"), "{:?}", entry.what);
        }
    }

    async fn comments_are_signs_of_life_for_a_call_that_takes_long(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        rig.old.never_answers("slow");
        let slow = tokio::spawn({
            let client = client.clone();
            async move { call(&client, "slow", "a").await }
        });

        for _ in 0..8 {
            tokio::time::sleep(secs(15)).await;
            rig.old.say(b": ping\n\n");
        }

        assert_eq!(rig.count(&When::method("ping")), 0);
        assert!(!slow.is_finished());
    }

    async fn closing_closes_the_stream(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();

        client.close().await;
        settle().await;

        assert_eq!((rig.old.streams(), rig.count(&When::delete())), (0, 0));
    }

    async fn a_client_that_is_dropped_closes_the_stream_too(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();

        drop(client);
        settle().await;

        assert_eq!(rig.old.streams(), 0);
    }
}
