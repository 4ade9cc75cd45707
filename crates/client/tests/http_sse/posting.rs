//! Servers that answer a request in the body of its POST, where this revision answers on the stream.

use http::Response;
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, call, secs, settle, text};

on_both! {
    async fn an_answer_in_the_body_of_the_post_is_the_answer(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, |ask: Ask| async {
            ask.run();
            let answer = ask.result(content("in the body"));
            ask.json(answer).await;
        });
        rig.old.mcp().rule(When::method("ping"), Times::Once, |ask: Ask| async {
            let answer = ask.result(json!({}));
            ask.json(answer).await;
        });

        let answer = tokio::time::timeout(secs(1), call(&client, "echo", "a")).await;
        let ping = tokio::time::timeout(secs(1), client.request("ping", ())).await;

        assert_eq!(text(&answer.expect("it is there").unwrap()), "in the body");
        assert_eq!(ping.expect("it is there").unwrap().as_str(), "{}");
        assert_eq!(rig.old.mcp().executions("echo"), 1);
        assert_eq!(rig.old.streams(), 1);
    }

    async fn an_answer_in_the_body_and_on_the_stream_counts_once(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        let mut inbox = client.inbox();
        let old = rig.old.clone();
        rig.old.mcp().rule(When::tool("echo"), Times::Always, move |ask: Ask| {
            let old = old.clone();
            async move {
                let is_late = ask.arguments()["key"] == "late";
                let on_stream = ask.result(content("on the stream"));
                let on_stream: Value = serde_json::from_slice(&on_stream).unwrap();
                let in_body = ask.result(content("in the body"));
                if !is_late {
                    old.push(&on_stream);
                    settle().await;
                }
                ask.json(in_body).await;
                settle().await;
                if is_late {
                    old.push(&on_stream);
                }
            }
        });

        let early = call(&client, "echo", "early").await.unwrap();
        let late = call(&client, "echo", "late").await.unwrap();
        settle().await;
        rig.old.push(&json!({"jsonrpc": "2.0", "method": "notifications/last"}));

        assert_eq!(text(&early), "on the stream");
        assert_eq!(text(&late), "in the body");
        let next = format!("{:?}", inbox.next().await);
        assert!(next.contains("notifications/last"), "{next}");
        call(&client, "other", "a").await.unwrap();
    }

    async fn an_answer_in_the_body_counts_after_progress_on_the_stream(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        let old = rig.old.clone();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, move |ask: Ask| {
            let old = old.clone();
            async move {
                let token = ask.params()["_meta"]["progressToken"].clone();
                let params = json!({"progressToken": token, "progress": 1});
                old.push(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
                settle().await;
                let answer = ask.result(content("in the body"));
                ask.json(answer).await;
            }
        });
        let params = json!({"name": "echo", "arguments": {}});

        let (call, mut progress) = client.request("tools/call", params).with_progress();
        let answer = tokio::time::timeout(secs(1), call).await.expect("it is there").unwrap();

        assert_eq!(text(&answer), "in the body");
        assert_eq!(progress.next().await.unwrap().progress, 1.0);
    }

    async fn an_answer_in_the_body_counts_though_the_stream_ends_before_it(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        let old = rig.old.clone();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, move |ask: Ask| {
            let old = old.clone();
            async move {
                ask.run();
                old.cut_streams();
                settle().await;
                let answer = ask.result(content("in the body"));
                ask.json(answer).await;
            }
        });

        let answer = call(&client, "echo", "a").await.unwrap();

        assert_eq!(text(&answer), "in the body");
        assert_eq!(rig.old.mcp().executions("echo"), 1);
    }

    async fn words_in_the_body_that_are_no_answer_are_passed_over(rig: Rig) {
        let client = rig.client();
        client.connect().await.unwrap();
        let old = rig.old.clone();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, move |ask: Ask| {
            let old = old.clone();
            async move {
                let answer: Value = serde_json::from_slice(&ask.result(content("on the stream"))).unwrap();
                ask.json(r#"{"status":"accepted"}"#).await;
                settle().await;
                old.push(&answer);
            }
        });

        let answer = call(&client, "echo", "a").await.unwrap();

        assert_eq!(text(&answer), "on the stream");
    }

    async fn a_body_beyond_the_limit_of_a_message_ends_its_call_and_no_other(rig: Rig) {
        let client = rig.builder().message_limit(64 * 1024).build().unwrap();
        client.connect().await.unwrap();
        rig.old.mcp().rule(When::tool("echo"), Times::Once, |ask: Ask| async {
            let (_, reply) = ask.reply();
            let head = Response::builder().status(200).header("content-type", "application/json");
            let mut stream = reply.open(head.body(()).unwrap()).await;
            while stream.send(vec![b'x'; 16 * 1024]).await {}
        });

        let error = call(&client, "echo", "a").await.unwrap_err();

        assert!(error.to_string().contains("64 KiB"), "{error}");
        assert!(error.may_have_run());
        call(&client, "other", "b").await.unwrap();
    }
}

fn content(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
