//! Doubts that a bridge or a gateway in between has told: both forms end as a doubt of the client's own.

use ridethrough_lab::{Times, When};
use serde_json::{Value, json};

use crate::rig::{Ran, Rig};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_behind_a_bridge_has_the_facts_that_it_has_without_one_in_both_forms() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::tool("put"), Times::Always, |ask| async move {
        ask.run();
        ask.status(502, &[], "the pool is drained").await;
    });
    let this = env!("CARGO_BIN_EXE_ridethrough");
    let bridge = ["--", this, "bridge", "--allow-http", "--no-catalogue", "SERVER"];

    let alone = rig.run(&["call", "SERVER", "put", "--json"]).await;
    for form in ["result", "error"] {
        let words = [&["call", "put", "--json"], &bridge[..], &["--doubt", form]].concat();
        let behind = rig.run(&words).await;

        assert_eq!((behind.code, alone.code), (Some(6), Some(6)), "{form}: {behind:?} {alone:?}");
        for fact in [
            "kind",
            "status",
            "said",
            "mayHaveRun",
            "attempts",
            "handshakes",
            "retryAfterMs",
            "hint",
        ] {
            assert_eq!(error(&behind)[fact], error(&alone)[fact], "{form}: {fact}: {behind:?}");
        }
        assert_eq!(error(&behind)["said"], "the pool is drained");
        assert!(error(&behind)["elapsedMs"].is_u64() && error(&behind)["rpc"].is_null());
    }
    assert_eq!(rig.mcp.executions("put"), 3, "each command calls once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fact_of_an_error_in_doubt_is_there_for_machines_and_in_words() {
    let rig = Rig::new().await;
    refuses(&rig, When::tool("put"), FACTS);

    let ran = rig.run(&["call", "SERVER", "put", "--json"]).await;

    let error = error(&ran);
    assert_eq!((ran.code, &error["exitCode"]), (Some(7), &json!(7)), "{ran:?}");
    assert_eq!((&error["kind"], &error["mayHaveRun"]), (&json!("deadline"), &json!(true)));
    assert_eq!((&error["status"], &error["said"]), (&json!(504), &json!("upstream timed out")));
    assert_eq!((&error["attempts"], &error["handshakes"]), (&json!(2), &json!(1)));
    assert_eq!((&error["elapsedMs"], &error["retryAfterMs"]), (&json!(2300), &json!(7000)));
    assert!(ran.err.contains("tried: 2 attempts in 2.3 s; the server may have run it"), "{ran:?}");
    assert!(ran.err.contains("check whether `put` took effect"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubt_about_what_only_reads_is_no_reason_to_look() {
    let rig = Rig::new().await;
    for only_reads in [When::tool("look"), When::method("resources/read")] {
        refuses(&rig, only_reads, FACTS);
    }

    let looked = rig.run(&["call", "SERVER", "look", "--json"]).await;
    let read = rig.run(&["read", "SERVER", "lab://note", "--json"]).await;

    for ran in [looked, read] {
        assert_eq!(ran.code, Some(7), "{ran:?}");
        assert!(!ran.err.contains("took effect"), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_leaves_no_doubt_or_has_no_facts_is_the_servers_own() {
    let rig = Rig::new().await;
    for data in [r#"{"kind":"interrupted","mayHaveRun":false}"#, r#""mayHaveRun""#, "null"] {
        refuses(&rig, When::tool("put"), data);

        let ran = rig.run(&["call", "SERVER", "put", "--json"]).await;

        assert_eq!(
            (ran.code, &error(&ran)["kind"]),
            (Some(8), &json!("protocol")),
            "{data} {ran:?}"
        );
        assert_eq!(error(&ran)["rpc"]["code"], -32050, "{ran:?}");
    }
}

/// Answers these requests by the error of calls that may have run.
fn refuses(rig: &Rig, when: When, data: &'static str) {
    rig.mcp.rule(when, Times::Always, move |ask| async move {
        let data: Value = serde_json::from_str(data).unwrap();
        let error = json!({"code": -32050, "message": "The server may have run it.", "data": data});
        let answer = json!({"jsonrpc": "2.0", "id": ask.id(), "error": error});
        ask.json(answer.to_string()).await;
    });
}

fn error(ran: &Ran) -> Value {
    ran.json()["error"].clone()
}

/// Facts as a front writes them.
const FACTS: &str = r#"{"kind":"deadlinePassed","status":504,"mayHaveRun":true,"attempts":2,"handshakes":1,"elapsedMs":2300,"retryAfterMs":7000,"said":"upstream timed out","server":"files"}"#;
