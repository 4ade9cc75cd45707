//! Answers that begin and never arrive, break off, or are not what they declare.

use ridethrough_lab::{Ask, Times, When};
use serde_json::json;

use super::{assert_advice, assert_finding, report_of};
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_without_an_answer_ends_with_7_and_its_session_is_given_back() {
    for head in ["content-type: text/event-stream", "content-type: application/json"] {
        let rig = Rig::new().await;
        rig.mcp.rule(When::method("initialize"), Times::Always, move |ask| async move {
            begin(ask, head).await;
        });

        let short = rig.run(&["check", "SERVER", "--timeout", "1"]).await;
        let given_back = rig.mcp.count(&When::delete());
        let ran = rig.run(&["check", "SERVER", "--timeout", "4", "--json"]).await;

        assert_eq!([short.code, ran.code], [Some(7), Some(7)], "{short:?} {ran:?}");
        assert!(short.out.contains("1. give it more time by --timeout"), "{short:?}");
        assert_finding(&ran.json(), "initialize", "bad", "the time of the check was over");
        assert_eq!(rig.mcp.count(&When::session("slow-one")), given_back + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_off_ends_with_4() {
    let (cut, code) = report_of(|ask| async move { ask.sse().await.cut().await }).await;

    assert_eq!(code, Some(4), "{cut}");
    assert_finding(&cut, "initialize", "bad", "its answer broke off");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_open_after_the_handshake_is_unknown_and_no_refusal() {
    let rig = Rig::new().await;
    let is_foreign = |it: &ridethrough_lab::Entry| {
        it.header("origin").is_some() || it.header("host") == Some("attacker.example")
    };
    rig.mcp.rule(When::matches(is_foreign), Times::Always, |ask| async move {
        ask.sse().await.cut().await;
    });
    rig.mcp.rule(When::method("server/discover"), Times::Always, |ask| async move {
        ask.sse().await.cut().await;
    });

    let report = super::checked(&rig).await;

    for name in ["origin", "host", "era"] {
        assert_finding(&report, name, "unknown", "its answer broke off");
    }
    assert!(report["isStatelessSpoken"].is_null(), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_rpc_of_another_type_is_bad_because_a_client_does_not_read_it() {
    let plain = [("content-type", "text/plain; charset=utf-8"), ("mcp-session-id", "odd-one")];
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("initialize"), Times::Always, move |ask| async move {
        let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        let result = ask.result(result);
        ask.status(200, &plain, result).await;
    });
    let ran = rig.run(&["check", "SERVER", "--json"]).await;
    let ping = rig.run(&["ping", "SERVER", "--policy", "never"]).await;

    let lists = Rig::new().await;
    lists.mcp.rule(When::method("tools/list"), Times::Always, move |ask| async move {
        let result = ask.result(json!({"tools": []}));
        ask.status(200, &plain[..1], result).await;
    });
    let listed = super::checked(&lists).await;

    assert_eq!([ran.code, ping.code], [Some(8), Some(8)], "{ran:?} {ping:?}");
    assert_finding(&ran.json(), "initialize", "bad", "as `text/plain; charset=utf-8`");
    assert_advice(&ran.json(), "answer with `application/json`");
    assert!(rig.mcp.count(&When::delete().and(When::session("odd-one"))) > 0);
    assert_finding(&listed, "list", "bad", "as `text/plain; charset=utf-8`");
    assert_advice(&listed, "answer with `application/json`");
}

/// Sends the head of an answer that opens a session, and nothing more.
async fn begin(ask: Ask, head: &str) {
    let Ok(mut raw) = ask.reply().1.raw() else { return };
    let more = "mcp-session-id: slow-one\r\ntransfer-encoding: chunked";
    raw.write(format!("HTTP/1.1 200 OK\r\n{head}\r\n{more}\r\n\r\n")).await;
    raw.gone().await;
}
