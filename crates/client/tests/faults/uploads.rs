//! Servers that answer before they have read the request, and then neither read on nor close: the rest of the
//! upload must not delay other requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Response};
use ridethrough::error::Kind;
use ridethrough::transport::{Connection, Dial, Endpoint, Failure, Peek};
use ridethrough::{Client, Era};
use ridethrough_lab::{Authority, Pipe, pipe};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::rig::{call, secs};

#[tokio::test(start_paused = true)]
async fn a_call_is_not_queued_behind_what_the_server_stopped_reading() {
    let server = Early::default();
    let client =
        Client::builder("http://server.test/").eras(Era::Legacy).dial(server).build().unwrap();
    call(&client, "echo", "a").await.unwrap();

    let error = upload(&client).await;
    let next = call(&client, "echo", "b").await;

    assert_eq!(error, Kind::Rejected { status: 413 });
    assert!(next.is_ok(), "{next:?}");
}

#[tokio::test(start_paused = true)]
async fn what_the_server_stopped_reading_keeps_no_connection() {
    let server = Early::default();
    let (end, closed) = (server.end.clone(), server.closed.clone());
    let client =
        Client::builder("http://server.test/").eras(Era::Legacy).dial(server).build().unwrap();

    for _ in 0..20 {
        upload(&client).await;
        sleep(secs(70)).await;
    }
    end.notify_waiters();
    sleep(secs(1)).await;

    assert_eq!(closed.load(Ordering::Relaxed), 20, "the client let go of every one");
}

#[tokio::test(start_paused = true)]
async fn what_the_server_stopped_reading_takes_no_http2_stream_from_others() {
    let authority = Authority::new();
    let server = EarlyHttp2(authority.clone());
    let builder = Client::builder("https://server.test/").eras(Era::Legacy).dial(server);
    let client = builder.root_certificates(authority.root_pem()).build().unwrap();
    call(&client, "echo", "a").await.unwrap();

    for _ in 0..12 {
        assert_eq!(upload(&client).await, Kind::Rejected { status: 413 });
    }
    let next = call(&client, "echo", "b").await;

    assert!(next.is_ok(), "{next:?}");
}

/// Calls with more bytes than the server reads.
async fn upload(client: &Client) -> Kind {
    let params = json!({ "name": "deploy", "arguments": { "key": "x".repeat(1 << 20) } });
    let call = client.request("tools/call", params).timeout(secs(20));
    let error = call.await.unwrap_err();
    error.call().unwrap_or_else(|| panic!("{error}")).kind
}

/// Serves HTTP/1.1 by hand, and counts the large uploads whose connection the client has closed.
#[derive(Default)]
struct Early {
    end: Arc<Notify>,
    closed: Arc<AtomicUsize>,
}

impl Dial for Early {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        let (ours, theirs) = pipe(64 * 1024);
        tokio::spawn(serve(theirs, self.end.clone(), self.closed.clone()));
        Box::pin(async { Ok(Connection::new(ours, Unseen)) })
    }
}

async fn serve(mut io: Pipe, end: Arc<Notify>, closed: Arc<AtomicUsize>) {
    let mut seen = Vec::new();
    loop {
        if io.read_buf(&mut seen).await.unwrap_or(0) == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&seen).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        if length > LARGE {
            io.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            end.notified().await;
            closed.fetch_add(usize::from(io.write_all(b" ").await.is_err()), Ordering::Relaxed);
            return;
        }
        if body.len() < length {
            continue;
        }
        let answer = match answer(body.as_bytes()) {
            _ if head.starts_with("GET") => "HTTP/1.1 405 None\r\ncontent-length: 0\r\n\r\n".into(),
            None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".into(),
            Some(answer) => format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            ),
        };
        io.write_all(answer.as_bytes()).await.unwrap();
        seen.clear();
    }
}

/// Serves HTTP/2 by hand: six streams, and a window that no large upload fits into.
struct EarlyHttp2(Authority);

impl Dial for EarlyHttp2 {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        let (ours, theirs) = pipe(64 * 1024);
        let config = self.0.server_config(&["server.test"], &[b"h2"]);
        tokio::spawn(serve_http2(theirs, tokio_rustls::TlsAcceptor::from(config)));
        Box::pin(async { Ok(Connection::new(ours, Unseen)) })
    }
}

async fn serve_http2(io: Pipe, tls: tokio_rustls::TlsAcceptor) {
    let mut settings = h2::server::Builder::new();
    settings.initial_window_size(1024).max_concurrent_streams(6);
    let io = tls.accept(io).await.unwrap();
    let mut connection = settings.handshake::<_, Bytes>(io).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            let head = |status: u16| {
                let head = Response::builder().status(status);
                head.header("content-type", "application/json").body(()).unwrap()
            };
            if request.method() != Method::POST {
                respond.send_response(head(405), true).unwrap();
                return;
            }
            let length = request.headers()["content-length"].to_str().unwrap().parse::<usize>();
            let mut body = request.into_body();
            if length.unwrap() > LARGE {
                respond.send_response(head(413), true).unwrap();
                std::future::pending::<()>().await;
            }
            let mut whole = Vec::new();
            while let Some(Ok(chunk)) = body.data().await {
                body.flow_control().release_capacity(chunk.len()).unwrap();
                whole.extend_from_slice(&chunk);
            }
            match answer(&whole) {
                None => drop(respond.send_response(head(202), true).unwrap()),
                Some(answer) => {
                    let mut stream = respond.send_response(head(200), false).unwrap();
                    stream.send_data(answer.into(), true).unwrap();
                }
            }
        });
    }
}

/// Returns the answer to a message; `None` for a notification.
fn answer(message: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
        _ => json!({}),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    (!message["id"].is_null()).then(|| answer.to_string())
}

struct Unseen;

impl Peek for Unseen {
    fn is_quiet(&self) -> bool {
        true
    }
}

const LARGE: usize = 100_000;
