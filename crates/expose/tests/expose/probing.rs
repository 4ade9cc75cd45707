//! Requests that no client sends, written byte by byte: names, pages, tokens, lengths and sessions that are
//! not what they seem.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use crate::rig::{Rig, TOKEN, initialize, post};

#[tokio::test(start_paused = true)]
async fn no_spelling_of_a_foreign_host_is_let_in() {
    let rig = Rig::new();
    for host in [
        "evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "evil.example#localhost",
        "localhost evil.example",
        "localhost,evil.example",
        "127.0.0.1.evil.example",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "[::ffff:8.8.8.8]",
        "[::1%25eth0]",
        "localhost:80:80",
        "localhost:-1",
        "",
    ] {
        let answers = raw(&rig, &greeting(&format!("host: {host}\r\n"), "/mcp")).await;

        assert_eq!(statuses(&answers), ["403"], "{host:?}");
    }
    for (host, target) in [
        ("host: localhost\r\nhost: evil.example\r\n", "/mcp"),
        ("host: evil.example\r\nhost: localhost\r\n", "/mcp"),
        ("", "/mcp"),
        ("host: localhost\r\n", "http://evil.example/mcp"),
        ("host: evil.example\r\n", "http://localhost/mcp"),
        ("host: localhost\r\n", "http://localhost@evil.example/mcp"),
        ("host: localhost\r\nx-forwarded-host: localhost\r\nhost: evil.example\r\n", "/mcp"),
    ] {
        let answers = raw(&rig, &greeting(host, target)).await;

        assert!(
            matches!(&*statuses(&answers), [one] if one == "403" || one == "400"),
            "{host} {target} {answers}"
        );
    }
    assert_eq!(rig.starts(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_spelling_of_a_foreign_page_is_let_in() {
    let rig = Rig::new();
    for origin in [
        "https://evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://localhost:80@evil.example",
        "http://evil.example/localhost",
        "http://evil.example#http://localhost",
        "http://127.0.0.1.evil.example",
        "http://[::1].evil.example",
        "http://localhost:80:80",
        "http://localhost/",
        "http://localhost/..",
        "http://localhost http://evil.example",
        "null",
        "file://",
        "localhost",
        "//localhost",
        "http:localhost",
        "chrome-extension://localhost",
        "",
    ] {
        let headers = format!("host: localhost\r\norigin: {origin}\r\n");

        let answers = raw(&rig, &greeting(&headers, "/mcp")).await;

        assert_eq!(statuses(&answers), ["403"], "{origin:?}");
        assert!(!answers.contains("access-control-allow-origin"), "{origin:?}");
    }
    let two = "host: localhost\r\norigin: http://localhost\r\norigin: https://evil.example\r\n";
    assert_eq!(statuses(&raw(&rig, &greeting(two, "/mcp")).await), ["403"]);
    assert_eq!(rig.starts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_looked_at_for_every_request_of_a_connection_and_only_where_it_belongs() {
    let rig = Rig::new();
    let with = |headers: &str, target: &str| {
        format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")
    };
    let right = with(&format!("authorization: Bearer {TOKEN}\r\n"), "/mcp");

    let after = raw(&rig, &format!("{right}{}", with("", "/mcp"))).await;
    assert_eq!(statuses(&after), ["400", "401"], "what one request shows is not for the next");

    for (headers, target) in [
        ("", format!("/mcp?access_token={TOKEN}")),
        ("", format!("http://{TOKEN}@localhost/mcp")),
        ("authorization: Bearer\r\n", "/mcp".to_owned()),
        ("cookie: token=s3cret\r\n", "/mcp".to_owned()),
        ("proxy-authorization: Bearer s3cret\r\n", "/mcp".to_owned()),
        ("authorization: Bearer wrong\r\nauthorization: Bearer s3cret\r\n", "/mcp".to_owned()),
        ("authorization: Bearer s3cre\r\n", "/mcp".to_owned()),
        ("authorization: Bearer s3crett\r\n", "/mcp".to_owned()),
        ("authorization: Bearer S3CRET\r\n", "/mcp".to_owned()),
        ("authorization: Basic s3cret\r\n", "/mcp".to_owned()),
        ("authorization: Bearer s3cret, Bearer wrong\r\n", "/mcp".to_owned()),
    ] {
        let answers = raw(&rig, &with(headers, &target)).await;

        let refused = statuses(&answers);
        assert!(refused == ["401"] || refused == ["403"], "{headers} {target} {answers}");
        assert!(!answers.contains(TOKEN), "{answers}");
    }
}

/// Two programs that do not agree where a request ends can be made to see two requests in one, or one in two.
/// Each of these requests hides another that asks for a session, and the server must not see that one.
#[tokio::test(start_paused = true)]
async fn a_request_whose_end_is_in_doubt_is_the_last_of_its_connection() {
    let rig = Rig::new();
    let hidden = greeting("host: localhost\r\n", "/mcp");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\n"
    );
    for lengths in [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
        "content-length: 2\r\ncontent-length: 0\r\n\r\n",
        "content-length: 0, 2\r\n\r\n",
        "content-length: +0\r\n\r\n",
        "content-length: -1\r\n\r\n",
        "content-length: 0x0\r\n\r\n",
        "content-length: \r\n\r\n",
        "content-length : 0\r\n\r\n",
        "transfer-encoding: identity\r\n\r\n",
        "transfer-encoding: xchunked\r\n\r\n",
        "transfer-encoding: chunked, identity\r\n\r\n",
        "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        " transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nx\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n-1\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n0x0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n1\r\n0a0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nffffffffffffffff1\r\n\r\n",
        "x: a\r\n\tb\r\ncontent-length: 0\r\n\r\n",
        "x: a\0b\r\ncontent-length: 0\r\n\r\n",
        "x: a\rb\r\ncontent-length: 0\r\n\r\n",
    ] {
        let answers = raw(&rig, &format!("{head}{lengths}{hidden}")).await;

        assert!(statuses(&answers).len() <= 1, "{lengths:?} {answers}");
        assert!(!answers.contains(" 200 "), "{lengths:?} {answers}");
        assert_eq!(rig.starts(), 0, "{lengths:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_1_is_not_answered_as_if_it_were() {
    let rig = Rig::new();
    for request in [
        "GET /mcp\r\n\r\n",
        "GET /mcp HTTP/0.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\u{fffd}\x03\x03",
        "GET  /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "GET /mcp\0 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "CONNECT evil.example:80 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "CONNECT localhost:22 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "TRACE /mcp HTTP/1.1\r\nhost: localhost\r\nx-secret: mine\r\n\r\n",
    ] {
        let answers = raw(&rig, request).await;

        assert!(
            !answers.contains("HTTP/1.1 2") && !answers.contains("mine"),
            "{request:?} {answers}"
        );
    }
    let long =
        format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "a".repeat(1 << 20));
    let answers = raw(&rig, &long).await;
    assert!(answers.is_empty() || statuses(&answers) == ["431"], "{answers}");
    let many = format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: a\r\n".repeat(1000));
    assert_eq!(statuses(&raw(&rig, &many).await), ["431"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_found_by_its_whole_id_and_by_nothing_else() {
    let mut rig = Rig::new();
    let (session, _child) = rig.begin().await;
    let (other, _other_child) = rig.begin().await;
    assert_eq!((session.len(), other.len()), (32, 32));
    assert_ne!(session, other);
    for id in [
        session[..31].to_owned(),
        format!("{session}0"),
        session.to_uppercase(),
        format!("{session},{other}"),
        format!("../{session}"),
        format!("{session}\t{other}"),
        "0".repeat(32),
        "1".to_owned(),
        "a".repeat(10_000),
    ] {
        if id == session {
            continue;
        }
        let answer = rig.send(post(&id, r#"{"method":"notifications/x"}"#)).await;

        assert_eq!(answer.status, 404, "{id}");
    }
    let mut two = post(&session, r#"{"method":"notifications/x"}"#);
    two.headers_mut().append("mcp-session-id", other.parse().unwrap());
    assert_eq!(rig.send(two).await.status, 400, "one request is for one session");
}

#[tokio::test(start_paused = true)]
async fn a_client_cannot_answer_or_cancel_what_is_another_sessions() {
    let mut rig = Rig::new();
    let (ours, mut child) = rig.begin().await;
    let (theirs, mut other) = rig.begin().await;
    let mut call = rig.post(&theirs, crate::rig::call(7)).await;
    other.hear().await;

    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(rig.post(&ours, cancel).await.status, 202);
    assert_eq!(child.hear().await["method"], "notifications/cancelled");
    child.answer(7, json!("forged")).await;
    other.answer(7, json!("true")).await;

    assert_eq!(call.event().await.unwrap().json()["result"], "true");
}

/// Returns a request for a session, with the right token.
fn greeting(headers: &str, target: &str) -> String {
    let body = initialize("2025-11-25").to_string();
    format!(
        "POST {target} HTTP/1.1\r\n{headers}authorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns everything that comes back until the connection is closed.
async fn raw(rig: &Rig, request: &str) -> String {
    let (mut ours, theirs) = duplex(4 << 20);
    let exposed = rig.exposed.clone();
    tokio::spawn(async move { exposed.serve(theirs).await });
    ours.write_all(request.as_bytes()).await.unwrap();
    let mut answers = Vec::new();
    ours.read_to_end(&mut answers).await.unwrap();
    String::from_utf8_lossy(&answers).into_owned()
}

fn statuses(answers: &str) -> Vec<String> {
    let lines = answers.lines().filter_map(|line| line.split_once("HTTP/1.1 "));
    lines.map(|(_, status)| status[..3].to_owned()).collect()
}
