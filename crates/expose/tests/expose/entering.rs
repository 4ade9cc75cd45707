//! Access: which clients are let in, and what a request must look like.

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::{Method, Request};
use http_body_util::Full;
use hyper::body::Bytes;

use crate::rig::{Rig, TOKEN, get, initialize, post, request};

#[tokio::test(start_paused = true)]
async fn who_shows_no_token_or_a_wrong_one_gets_401_and_nothing_is_started() {
    let rig = Rig::new();
    for (shown, challenge) in
        [(None, "Bearer"), (Some("Bearer wrong"), "Bearer error=\"invalid_token\"")]
    {
        let mut request = post("", &initialize("2025-11-25").to_string());
        request.headers_mut().remove(AUTHORIZATION);
        if let Some(shown) = shown {
            request.headers_mut().insert(AUTHORIZATION, shown.parse().unwrap());
        }

        let mut answer = rig.send(request).await;

        assert_eq!(answer.status, 401);
        assert_eq!(answer.header("www-authenticate"), Some(challenge));
        let text = answer.text().await;
        assert!(!text.contains(TOKEN) && !text.contains("wrong"), "{text}");
    }
    assert_eq!(rig.starts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_name_or_page_gets_403_before_its_token_is_looked_at() {
    let rig = Rig::new();
    for (name, value) in
        [(HOST, "evil.example"), (ORIGIN, "https://evil.example"), (ORIGIN, "null")]
    {
        let mut request = post("", &initialize("2025-11-25").to_string());
        request.headers_mut().remove(AUTHORIZATION);
        request.headers_mut().insert(name.clone(), value.parse().unwrap());

        let answer = rig.send(request).await;

        assert_eq!(answer.status, 403, "{name} {value}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert_eq!(rig.starts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_this_machine_may_ask_and_read() {
    let rig = Rig::new();
    let origin = "http://localhost:3000";
    let mut asks = request(Method::OPTIONS, "", "");
    asks.headers_mut().remove(AUTHORIZATION);
    asks.headers_mut().insert(ORIGIN, origin.parse().unwrap());
    let mut comes = get("unknown");
    comes.headers_mut().insert(ORIGIN, origin.parse().unwrap());

    let (allowed, answer) = (rig.send(asks).await, rig.send(comes).await);

    assert_eq!(allowed.status, 204);
    assert!(allowed.header("access-control-allow-headers").unwrap().contains("Authorization"));
    assert_eq!(allowed.header("access-control-allow-origin"), Some(origin));
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
    let mut asks = request(Method::OPTIONS, "", "");
    asks.headers_mut().insert(ORIGIN, origin.parse().unwrap());
    asks.headers_mut()
        .insert("access-control-request-headers", "x-own, content-type".parse().unwrap());
    let allowed = rig.send(asks).await;
    assert_eq!(allowed.header("access-control-allow-headers"), Some("x-own, content-type"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("Mcp-Session-Id"));
}

#[tokio::test(start_paused = true)]
async fn other_paths_and_methods_are_refused() {
    let rig = Rig::new();
    let mut elsewhere = get("x");
    *elsewhere.uri_mut() = "/".parse().unwrap();

    let put = rig.send(request(Method::PUT, "", "")).await;

    assert_eq!(rig.send(elsewhere).await.status, 404);
    assert_eq!(put.status, 405);
    assert_eq!(put.header("allow"), Some("GET, POST, DELETE"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_or_answered_is_refused_with_the_status_that_says_so() {
    let mut rig = Rig::new();
    let (session, _child) = rig.begin().await;
    let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let with = |name, value: &str, mut request: Request<Full<Bytes>>| {
        request.headers_mut().insert::<http::HeaderName>(name, value.parse().unwrap());
        request
    };
    for (request, status) in [
        (with(CONTENT_TYPE, "text/plain", post(&session, message)), 415),
        (with(ACCEPT, "text/html", post(&session, message)), 406),
        (with(ACCEPT, "application/json", get(&session)), 406),
        (post(&session, "nope"), 400),
        (post(&session, "{}"), 400),
        (post(&session, "[]"), 400),
        (post("", message), 400),
        (get(""), 400),
        (request(Method::DELETE, "", ""), 400),
        (post("unknown", message), 404),
        (get("unknown"), 404),
        (request(Method::DELETE, "unknown", ""), 404),
        (post(&session, &initialize("2025-11-25").to_string()), 400),
        (post("unknown", &initialize("2025-11-25").to_string()), 404),
        (post(&session, &format!("[{message}]")), 400),
        (post(&session, &" ".repeat((16 << 20) + 1)), 413),
    ] {
        let shown = format!("{request:.200?}");

        let mut answer = rig.send(request).await;

        assert_eq!(answer.status, status, "{shown}");
        assert_eq!(answer.json().await["jsonrpc"], "2.0", "{shown}");
    }
    assert_eq!(rig.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_revision_without_sessions_is_refused_within_one_and_the_agreed_one_is_not() {
    let mut rig = Rig::new();
    let (session, _child) = rig.begin_with("2027-01-01").await;
    let naming = |version: &str| {
        let mut request = post(&session, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
        request.headers_mut().insert("mcp-protocol-version", version.parse().unwrap());
        request
    };

    assert_eq!(rig.send(naming("2026-07-28")).await.status, 400);
    assert_eq!(rig.send(naming("nope")).await.status, 400);
    assert_eq!(rig.send(naming("2025-06-18")).await.status, 202);
    assert_eq!(rig.send(naming("2027-01-01")).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up_after_a_minute() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let rig = Rig::new();
    let (mut ours, theirs) = tokio::io::duplex(1024);
    let exposed = rig.exposed.clone();
    tokio::spawn(async move { exposed.serve(theirs).await });
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: 10\r\n\r\n{{"
    );
    let began = tokio::time::Instant::now();

    ours.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    ours.read_exact(&mut answer).await.unwrap();

    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_eq!(began.elapsed().as_secs(), 60);
}
