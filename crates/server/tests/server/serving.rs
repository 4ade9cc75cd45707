//! Connections: HTTP/2 beside HTTP/1.1, and a server that is drained.

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::Instant;

use crate::rig::{Rig, call, post, request, with};

#[tokio::test(start_paused = true)]
async fn calls_share_a_connection_of_http_2_and_a_reset_cancels_one_of_them() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (ours, theirs) = duplex(64 * 1024);
    let server = rig.server.clone();
    tokio::spawn(async move { server.serve(theirs).await });
    let (sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .handshake(TokioIo::new(ours))
        .await
        .unwrap();
    tokio::spawn(connection);
    let send = |id: u64| {
        let mut request = call(id);
        *request.uri_mut() = "http://localhost/mcp".parse().unwrap();
        request.headers_mut().remove("host");
        let mut sender = sender.clone();
        tokio::spawn(async move { sender.send_request(request).await.unwrap() })
    };

    let one = send(1);
    let first = puppet.hear().await;
    let two = send(2);
    let second = puppet.hear().await;
    one.abort();
    let cancelled = puppet.hear().await;
    assert_eq!(cancelled["params"]["requestId"], first["id"]);
    puppet.answer(&second["id"], json!({"n": 2})).await;

    let body = two.await.unwrap().into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["n"]), (&json!(2), &json!(2)));
}

/// A client of HTTP/2 can stop a stream without stopping its connection.
#[tokio::test(start_paused = true)]
async fn a_stream_of_http_2_that_is_not_read_holds_up_its_session_for_10_s_only() {
    let mut rig = Rig::new();
    let (session, mut puppet) = begin(&mut rig).await;
    let (ours, theirs) = duplex(64 * 1024);
    let server = rig.server.clone();
    tokio::spawn(async move { server.serve(theirs).await });
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(ours))
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut unread = Vec::new();
    let mut ids = Vec::new();
    for id in 0..4 {
        let body = json!({"id": id, "method": "tools/call", "params": {}}).to_string();
        let mut request = with(post(&body), "mcp-session-id", Some(&session));
        *request.uri_mut() = "http://localhost/mcp".parse().unwrap();
        request.headers_mut().remove("host");
        unread.push(sender.send_request(request).await.unwrap());
        ids.push(puppet.hear().await["id"].clone());
    }
    let began = Instant::now();

    for id in &ids {
        puppet.answer(id, json!("x".repeat(15 << 20))).await;
    }
    puppet.notify("notifications/last", json!({})).await;
    puppet.notify("notifications/last", json!({})).await;

    let waited = began.elapsed().as_secs();
    assert!((10..60).contains(&waited), "{waited}");
}

/// The client goes on to use its connection, and an answer that it does not read is held up by its last bytes
/// only.
#[tokio::test(start_paused = true)]
async fn an_answer_of_http_2_that_is_not_read_closes_its_connection_though_others_on_it_are_read() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let (ours, theirs) = duplex(64 * 1024);
    let server = rig.server.clone();
    let served = tokio::spawn(async move { server.serve(theirs).await });
    let (sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(100 * 1024)
        .handshake(TokioIo::new(ours))
        .await
        .unwrap();
    tokio::spawn(connection);
    let send = |id: u64| {
        let mut request = call(id);
        *request.uri_mut() = "http://localhost/mcp".parse().unwrap();
        request.headers_mut().remove("host");
        let mut sender = sender.clone();
        tokio::spawn(async move { sender.send_request(request).await })
    };

    let unread = send(1);
    let heard = puppet.hear().await;
    puppet.answer(&heard["id"], json!("x".repeat(100 * 1024))).await;
    let _unread = unread.await.unwrap().unwrap();
    let began = Instant::now();
    let mut id = 2;
    while !served.is_finished() {
        assert!(began.elapsed() < Duration::from_secs(300), "it is never closed");
        let read = send(id);
        let answered = tokio::select! {
            heard = puppet.hear() => heard["id"].clone(),
            () = tokio::time::sleep(Duration::from_secs(1)) => continue,
        };
        puppet.answer(&answered, json!({})).await;
        if let Ok(Ok(answer)) = read.await {
            answer.into_body().collect().await.ok();
        }
        id += 1;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    let waited = began.elapsed().as_secs();
    assert!((60..=66).contains(&waited), "{waited}");
    assert!(id > 10, "{id}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_whatever_it_began_to_say() {
    let rig = Rig::new();
    for said in ["", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /mcp HT"] {
        let (mut ours, theirs) = duplex(64 * 1024);
        let server = rig.server.clone();
        tokio::spawn(async move { server.serve(theirs).await });
        let began = Instant::now();

        ours.write_all(said.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        ours.read_to_end(&mut rest).await.unwrap();

        assert_eq!(began.elapsed().as_secs(), 10, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_drained_finishes_calls_and_sends_streams_away() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let stateless = rig.begin_to_send(call(1));
    let heard = puppet.hear().await;
    let (session, mut other) = begin(&mut rig).await;
    let get = with(request(Method::GET, ""), "mcp-session-id", Some(&session));
    let mut standing = rig.send(with(get, "accept", Some("text/event-stream"))).await;
    let called = rig.begin_to_send(with(
        post(r#"{"id":5,"method":"tools/call","params":{}}"#),
        "mcp-session-id",
        Some(&session),
    ));
    let asked = other.hear().await;
    let server = rig.server.clone();

    let draining = tokio::spawn(async move { server.drain(Duration::from_secs(30)).await });
    while let Some(block) = standing.block().await {
        assert!(block.starts_with("retry: 1000") || block.contains("data: "), "{block}");
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    puppet.answer(&heard["id"], json!({"n": 1})).await;
    other.answer(&asked["id"], json!({"n": 5})).await;

    assert_eq!(stateless.await.unwrap().last().await["result"]["n"], 1);
    assert_eq!(called.await.unwrap().last().await["result"]["n"], 5);
    assert!(draining.await.unwrap(), "everything has finished");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_end_is_waited_for_as_long_as_was_said() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    let _running = rig.begin_to_send(call(1));
    puppet.hear().await;
    let began = Instant::now();

    assert!(!rig.server.drain(Duration::from_secs(30)).await);

    assert_eq!(began.elapsed().as_secs(), 30);
}

pub(crate) async fn begin(rig: &mut Rig) -> (String, crate::rig::Puppet) {
    let begun = rig.begin_to_send(post(&hello().to_string()));
    let mut puppet = rig.puppet().await;
    let asked = puppet.hear().await;
    puppet.answer(&asked["id"], json!({"protocolVersion": "2025-11-25"})).await;
    let session = begun.await.unwrap().header("mcp-session-id").unwrap().to_owned();
    (session, puppet)
}

pub(crate) fn hello() -> Value {
    json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_needs_no_token_and_hears_one_word() {
    let rig = Rig::new();
    let ask = |path: &str| {
        let mut request = with(request(Method::GET, ""), "authorization", None);
        *request.uri_mut() = path.parse().unwrap();
        request
    };

    let mut alive = rig.send(ask("/healthz")).await;
    assert_eq!((alive.status.as_u16(), &*alive.text().await), (200, "alive"));
    let mut ready = rig.send(ask("/readyz")).await;
    assert_eq!((ready.status.as_u16(), &*ready.text().await), (200, "ready"));
    for path in ["/mcp", "/mcp/", "/mcp/a", "/healthz/x"] {
        assert_eq!(rig.send(ask(path)).await.status, 401, "{path}");
    }
    for path in ["/mcp/", "/mcp/a", "/mcpx", "/mcp%2fa"] {
        let mut request = request(Method::GET, "");
        *request.uri_mut() = path.parse().unwrap();
        assert_eq!(rig.send(request).await.status, 404, "nothing is at {path}");
    }
}
