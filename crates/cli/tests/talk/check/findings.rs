//! Servers that let the client in: what is found out about each.

use std::time::Duration;

use ridethrough_lab::{Protocol, Server, Spoken, Style, Times, What, When};
use serde_json::json;

use super::{assert_finding, assert_never_called, checked, find, healthy};
use crate::rig::Rig;
use crate::snapshots::{assert_snapshot, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_server_has_no_problem_and_is_left_as_it_was() {
    let rig = healthy().await;

    let ran = rig.run(&["check", "SERVER"]).await;

    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.out.ends_with("\nno problem found\n"), "{}", ran.out);
    let opened = rig.mcp.log().iter().filter(|it| is_open(&it.what)).count();
    // Two of the five handshakes are refused, and one session is requested once more after its end.
    assert_eq!((opened, rig.mcp.count(&When::delete())), (4, 2));
    assert_never_called(&rig);
    assert_snapshot("check-healthy", &settled(&ran.out, &rig.url));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_report_for_machines_has_findings_figures_and_tools() {
    let rig = healthy().await;

    let ran = rig.run(&["check", "SERVER", "--json", "--repeatable", "deploy"]).await;

    let report = ran.json();
    assert_eq!(ran.out.lines().count(), 1);
    assert_eq!((&report["revision"], &report["exitCode"]), (&json!("2025-11-25"), &json!(0)));
    assert_eq!(report["isStatelessSpoken"], json!(false));
    assert_eq!(report["figures"]["pingMs"].as_array().unwrap().len(), 10);
    assert!(report["figures"]["connectMs"].is_number(), "{report}");
    let repeat: Vec<_> = report["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["repeat"].as_str().unwrap()))
        .collect();
    assert_eq!(
        repeat,
        [("echo", "ifMarked"), ("deploy", "always"), ("look", "always"), ("put", "ifMarked")]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_to_answer_is_told_with_what_it_means_for_a_dropped_call() {
    for (style, resume, words) in [
        (Style::Json, "note", "there is no stream to resume"),
        (Style::Sse, "note", "its events have no ids"),
        (Style::SseWithIds, "good", "a lost answer came again"),
    ] {
        let rig = Rig::new().await;
        rig.mcp.answers(style);

        let report = checked(&rig).await;

        assert_finding(&report, "resume", resume, words);
        let drop = if resume == "good" { "is resumed" } else { "the server may have run it" };
        assert_finding(&report, "drop", resume, drop);
        assert_never_called(&rig);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_ids_that_cannot_be_resumed_from_are_a_warning() {
    let rig = Rig::new().await;
    rig.mcp.answers(Style::SseWithIds);
    rig.mcp.rule(
        When::resume(),
        Times::Always,
        |ask| async move { ask.status(400, &[], "").await },
    );

    let report = checked(&rig).await;

    assert_finding(&report, "resume", "warning", "`Last-Event-ID` brings 400");
    assert_finding(&report, "drop", "note", "the server may have run it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_sessions_has_none_to_lose() {
    let rig = Rig::new().await;
    rig.mcp.issue_sessions(false);

    let report = checked(&rig).await;

    assert_finding(&report, "id", "good", "issues no session id");
    assert!(find(&report, "expiry").is_none() && find(&report, "delete").is_none());
    assert_eq!(rig.mcp.count(&When::delete()), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_says_of_an_unknown_session_is_read_as_a_call_would_read_it() {
    let error =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Session not found"}}"#;
    for (status, body, verdict, words) in [
        (404, "", "good", "answers 404 to an unknown session"),
        (400, "No valid session ID provided", "note", "our client knows this dialect"),
        (400, "no", "bad", "every call fails once a session has expired"),
        (200, error, "note", "asks again before it believes that"),
        (500, "", "bad", "answers 500"),
    ] {
        let rig = Rig::new().await;
        rig.mcp.lost_session(status, body);

        let report = checked(&rig).await;

        assert_finding(&report, "expiry", verdict, words);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whether_a_session_can_be_given_back_is_told() {
    for (status, verdict, words) in [
        (405, "note", "does not let clients end a session"),
        (500, "warning", "answers 500 to DELETE"),
        (200, "warning", "the session still answers afterwards"),
    ] {
        let rig = Rig::new().await;
        rig.mcp.rule(When::delete(), Times::Always, move |ask| async move {
            ask.status(status, &[], "").await;
        });

        let report = checked(&rig).await;

        assert_finding(&report, "delete", verdict, words);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_standing_stream_is_offered_refused_or_cut_short() {
    let rig = Rig::new().await;
    assert_finding(&checked(&rig).await, "standing", "good", "holds a standing stream open");

    let rig = Rig::new().await;
    rig.mcp.rule(
        When::listen(),
        Times::Always,
        |ask| async move { ask.status(405, &[], "").await },
    );
    assert_finding(&checked(&rig).await, "standing", "note", "has no standing stream (405)");

    let rig = Rig::new().await;
    rig.mcp.rule(When::listen(), Times::Always, |ask| async move {
        let mut sse = ask.sse().await;
        sse.prime("7").await;
        sse.retry(Duration::from_millis(250)).await;
        sse.finish().await;
    });
    let words = "to be polled; it begins with an event id and asks to wait 250.0 ms";
    assert_finding(&checked(&rig).await, "standing", "note", words);

    let rig = Rig::new().await;
    rig.mcp.rule(
        When::listen(),
        Times::Always,
        |ask| async move { ask.sse().await.finish().await },
    );
    assert_finding(
        &checked(&rig).await,
        "standing",
        "warning",
        "ends its standing stream within a second",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_not_kept_are_told() {
    let rig = Rig::new().await;
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        let answer = ask.result(json!({}));
        let headers = [("content-type", "application/json"), ("connection", "close")];
        ask.status(200, &headers, answer).await;
    });
    let closes = checked(&rig).await;

    let rig = Rig::new().await;
    rig.mcp.rule(When::method("ping"), Times::Always, |ask| async move {
        let mut sse = ask.sse().await;
        sse.answer(None, json!({})).await;
        sse.gone().await;
    });
    let lingers = checked(&rig).await;

    assert_finding(&closes, "reuse", "warning", "closes connections: ");
    assert_finding(&lingers, "reuse", "warning", "keeps 3 of 3 streams open after their answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_this_machine_must_look_at_origin_and_host() {
    let rig = Rig::new().await;
    let open = checked(&rig).await;
    let opened = rig.mcp.count(&When::method("initialize"));
    let closed = checked(&healthy().await).await;

    assert_eq!((opened, rig.mcp.count(&When::delete())), (4, 4), "all sessions are given back");

    for name in ["origin", "host"] {
        assert_finding(&open, name, "warning", "DNS rebinding");
        assert_finding(&closed, name, "good", "with 403");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revisions_are_told_whether_they_are_old_repeated_or_stateless() {
    let rig = Rig::new().await;
    rig.mcp.initialize_result(json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    let old = checked(&rig).await;
    rig.mcp.initialize_result(json!({"protocolVersion": "2024-10-07", "capabilities": {}}));
    let older = checked(&rig).await;
    rig.mcp.initialize_result(json!({"protocolVersion": "1999-01-01", "capabilities": {}}));
    let echo = checked(&rig).await;
    rig.rule(When::method("server/discover"), json!({"supportedVersions": ["2026-07-28"]}));
    let both = checked(&rig).await;

    assert_finding(&old, "revision", "note", "speaks revision 2025-06-18");
    assert_finding(&old, "list", "note", "says that it has no tools");
    assert_finding(&older, "revision", "bad", "calls end as incompatible");
    assert_finding(&echo, "negotiation", "warning", "its word about revisions means nothing");
    assert_finding(&both, "era", "good", "speaks the stateless revision 2026-07-28");
    assert_eq!([&old, &both].map(|it| &it["isStatelessSpoken"]), [&json!(false), &json!(true)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_stateless_only_is_checked_without_a_handshake() {
    let rig = Rig::new().await;
    rig.mcp.speaks(Spoken::Modern);

    let report = checked(&rig).await;

    assert_finding(&report, "era", "good", "speaks the stateless revision 2026-07-28");
    assert_finding(&report, "initialize", "note", "it speaks the stateless revision only");
    assert_finding(&report, "discover", "good", "answers `server/discover`");
    assert_finding(&report, "list", "good", "lists 4 tools");
    assert_finding(&report, "latency", "good", "10 pings");
    assert_finding(&report, "origin", "warning", "DNS rebinding");
    assert_eq!(
        (&report["isStatelessSpoken"], &report["revision"]),
        (&json!(true), &json!("2026-07-28"))
    );
}

/// `check` once reported a standing stream, and `watch` none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_standing_stream_of_a_server_of_both_eras_is_told_for_each() {
    let rig = Rig::new().await;
    rig.mcp.speaks(Spoken::Both);
    let with_both = checked(&rig).await;
    rig.mcp.rule(When::method("subscriptions/listen"), Times::Always, |ask| async move {
        let error = ask.error(-32601, "Method not found");
        ask.json(error).await;
    });
    let with_one = checked(&rig).await;

    for report in [&with_both, &with_one] {
        assert_finding(report, "standing", "good", "in a session: holds a standing stream open");
    }
    assert_finding(&with_both, "listen", "good", "without a session it holds a standing stream");
    assert_finding(&with_one, "listen", "note", "without a session it has no standing stream");
    assert_finding(&with_one, "era", "good", "our commands speak that with it");
}

/// The port was once reported as `ok HTTP/1.1, no TLS`, with nothing about TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_speaks_tls_is_told_when_it_is_asked_in_plain_http() {
    let rig = Rig::over_tls().await;
    let plain = rig.url.replace("https://", "http://");

    let ran = rig.run(&["check", &plain]).await;

    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(ran.out.contains("speaks TLS, and the URL says plain http"), "{ran:?}");
    assert!(ran.out.contains(&format!("ask it by `{}`", rig.url)), "{ran:?}");
    assert!(!ran.out.contains("no TLS"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_told_and_a_certificate_that_nobody_trusts_ends_with_4() {
    let rig = Rig::new().await;
    let server = Server::new(Protocol::Http2Tls, rig.mcp.clone());
    let url = format!("https://{}/mcp", server.listen().await.unwrap());
    rig.write("root.pem", &server.authority().root_pem());

    let trusted = [("SSL_CERT_FILE", "root.pem")];
    let ran = rig.run_with(&["check", &url, "--json"], &trusted).await;
    let strange = rig.run(&["check", &url]).await;

    assert_eq!([ran.code, strange.code], [Some(0), Some(4)], "{ran:?} {strange:?}");
    assert_finding(&ran.json(), "http", "good", "HTTP/2, TLS 1.3");
    assert!(ran.json()["figures"]["tlsMs"].is_number(), "{ran:?}");
    assert_finding(&ran.json(), "reuse", "good", "keeps its connection");
    assert!(
        strange.out.contains("its certificate is not accepted: it was issued by"),
        "{strange:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn badly_made_tools_are_named() {
    let rig = Rig::new().await;
    let schema = json!({"type": "object"});
    rig.mcp.tools(json!([
        {"name": "twin", "inputSchema": schema}, {"name": "twin", "inputSchema": schema},
        {"name": "bare"}, {"name": "odd", "inputSchema": {"type": "array"}}, {"title": "no name"},
        {"name": "torn", "inputSchema": schema,
         "annotations": {"readOnlyHint": true, "destructiveHint": true}},
    ]));

    let report = checked(&rig).await;

    assert_finding(&report, "duplicates", "warning", "lists `twin` more than once");
    assert_finding(&report, "schemas", "warning", "`bare`, `odd`");
    assert_finding(&report, "hints", "warning", "`torn`");
    assert_finding(&report, "names", "warning", "1 entries");
}

fn is_open(what: &What) -> bool {
    matches!(what, What::Request { method, .. } if method == "initialize")
}
