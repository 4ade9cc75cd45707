//! Answers that are compressed though the client did not ask for it.

use ridethrough::error::Kind;
use ridethrough_lab::{Ask, Protocol, Times, When};

use crate::rig::{Rig, call, text};

on_every_carrier! {
    async fn every_request_asks_for_a_plain_answer(rig: Rig) {
        let client = rig.client();

        call(&client, "echo", "a").await.unwrap();
        client.close().await;

        for entry in rig.mcp.log() {
            assert_eq!(entry.header("accept-encoding"), Some("identity"), "{:?}", entry.what);
        }
    }

    async fn a_compressed_answer_is_named_as_such(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| compressed(ask, "application/json"));
        let client = rig.client();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::PeerMisbehaved);
        assert!(error.to_string().contains("coded as `gzip`, which was not asked for"), "{error}");
        assert!(error.may_have_run());
        call(&client, "echo", "b").await.unwrap();
    }

    async fn a_compressed_stream_is_named_as_such(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| compressed(ask, "text/event-stream"));
        let client = rig.client();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert!(error.to_string().contains("coded as `gzip`, which was not asked for"), "{error}");
    }

    async fn a_compressed_refusal_is_a_refusal_all_the_same(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let headers = [("content-type", "text/plain"), ("content-encoding", "br")];
            ask.status(400, &headers, &b"\x1f\x8bsorry"[..]).await;
        });
        let client = rig.client();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::Rejected { status: 400 });
        assert!(!error.to_string().contains("sorry"), "{error}");
    }

    async fn an_answer_that_says_that_it_is_plain_is_read(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            let answer = ask.result(text("done"));
            let headers = [("content-type", "application/json"), ("content-encoding", "Identity")];
            ask.status(200, &headers, answer).await;
        });
        let client = rig.client();

        let result = call(&client, "deploy", "a").await.unwrap();

        assert!(result.as_str().contains("done"));
    }
}

async fn compressed(ask: Ask, content: &str) {
    ask.run();
    let headers = [("content-type", content), ("content-encoding", "gzip")];
    ask.status(200, &headers, &b"\x1f\x8b\x08\0\0\0\0\0"[..]).await;
}
