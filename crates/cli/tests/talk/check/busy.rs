//! Servers that are busy, or whose proxy is: their answers then are no verdict.

use ridethrough_lab::{Entry, Times, When};
use serde_json::json;

use super::{assert_finding, checked, report_of};
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_busy_in_json_rpc_ends_with_4_too() {
    for status in [408, 425, 429, 500, 502, 503, 504] {
        let (report, code) = report_of(move |ask| async move {
            let error = ask.error(-32000, "come back later");
            ask.status(status, &[("content-type", "application/json")], error).await;
        })
        .await;

        assert_eq!(code, Some(4), "{report}");
        assert_finding(&report, "initialize", "bad", &format!("turns us away: {status}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn being_turned_away_is_no_guard_against_web_pages() {
    for status in [302, 429, 500, 503] {
        let rig = Rig::new().await;
        let is_foreign = |it: &Entry| {
            it.header("origin").is_some() || it.header("host") == Some("attacker.example")
        };
        rig.mcp.rule(When::matches(is_foreign), Times::Always, move |ask| async move {
            ask.status(status, &[], "").await;
        });

        let report = checked(&rig).await;

        for name in ["origin", "host"] {
            assert_finding(&report, name, "unknown", &format!("the server answers {status}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_busy_server_says_of_sessions_is_unknown() {
    for (status, expiry) in
        [(429, "unknown"), (503, "unknown"), (401, "bad"), (500, "bad"), (404, "good")]
    {
        let rig = Rig::new().await;
        rig.mcp.lost_session(status, "");

        let report = checked(&rig).await;

        assert_finding(&report, "expiry", expiry, &format!("answers {status}"));
        let delete = if status == 404 { "good" } else { "unknown" };
        let words = if status == 404 { "it is gone then".into() } else { status.to_string() };
        assert_finding(&report, "delete", delete, &words);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_busy_server_says_of_revisions_streams_and_ends_is_unknown() {
    let rig = Rig::new().await;
    let is_misnamed = |it: &Entry| it.header("mcp-protocol-version") == Some("1999-01-01");
    for when in [When::matches(is_misnamed), When::listen(), When::delete()] {
        rig.mcp.rule(when, Times::Always, |ask| async move { ask.status(429, &[], "").await });
    }
    let initialized = When::notification("notifications/initialized");
    rig.mcp.rule(initialized, Times::Always, |ask| async move { ask.status(429, &[], "").await });
    rig.mcp.rule(When::method("initialize"), Times::Always, |ask| async move {
        if ask.params()["protocolVersion"] == json!("1999-01-01") {
            ask.status(429, &[], "").await
        } else {
            ask.pass().await
        }
    });

    let report = checked(&rig).await;

    for name in ["header", "standing", "delete", "initialized", "negotiation"] {
        assert_finding(&report, name, "unknown", "the server answers 429");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_that_is_turned_away_is_no_missing_ping() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        ask.status(429, &[], "").await;
    });

    let report = checked(&rig).await;

    assert!(super::find(&report, "ping").is_none(), "{report}");
    for name in ["resume", "latency", "expiry"] {
        assert_finding(&report, name, "unknown", "429");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_closed_before_the_pings_is_not_counted() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("ping"), Times::Once, |ask| async move {
        let answer = ask.result(json!({}));
        let headers = [("content-type", "application/json"), ("connection", "close")];
        ask.status(200, &headers, answer).await;
    });

    let report = checked(&rig).await;

    assert_finding(&report, "reuse", "good", "keeps its connection");
    assert_eq!(report["figures"]["pingMs"].as_array().unwrap().len(), 10);
}
