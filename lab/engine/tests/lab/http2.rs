//! What only HTTP/2 has: stream limits, stream resets, GOAWAY.

use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use http::Response;
use ridethrough_lab::{Http2, Processed, Protocol, Server, Turn};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::client::{Client, handshake, http2, http2_get, http2_over, http2_request};

#[tokio::test(start_paused = true)]
async fn the_stream_limit_is_announced() {
    let server = Server::new(Protocol::Http2, ok);
    server.http2(Http2 { max_concurrent_streams: Some(7), ..Http2::default() });
    let mut requests = http2(&server).await;

    // The settings are known for certain once an answer has come after them.
    http2_get(&mut requests, "/").await.unwrap();

    assert_eq!(requests.current_max_send_streams(), 7);
}

#[tokio::test(start_paused = true)]
async fn streams_are_answered_side_by_side() {
    let server = Server::new(Protocol::Http2, |turn: Turn| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        turn.reply.respond(Response::new(turn.request.body)).await;
    });
    let (mut one, started) = (http2(&server).await, tokio::time::Instant::now());
    let mut other = one.clone();

    let (first, second) = tokio::join!(http2_get(&mut one, "/1"), http2_get(&mut other, "/2"));

    assert!(first.is_ok() && second.is_ok());
    assert_eq!(started.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_larger_than_every_window_arrives_whole() {
    let server = Server::new(Protocol::Http2, |turn: Turn| async move {
        let mut stream = turn.reply.open(Response::new(())).await;
        assert!(stream.send(vec![1; 300_000]).await);
        stream.finish_with(vec![2; 300_000]).await;
    });
    let mut requests = http2(&server).await;

    let (_, body) = http2_get(&mut requests, "/").await.unwrap();

    assert_eq!(body.len(), 600_000);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_reset_with_the_reason_that_was_given() {
    let server = Server::new(Protocol::Http2, |turn: Turn| async move {
        match turn.request.target.as_str() {
            "/refuse" => turn.reply.reset_with(Reason::REFUSED_STREAM),
            "/reset" => turn.reply.reset(),
            "/close" => turn.reply.close().await,
            _ => drop(turn),
        }
    });
    let mut requests = http2(&server).await;

    let reasons = [
        ("/refuse", Reason::REFUSED_STREAM),
        ("/reset", Reason::INTERNAL_ERROR),
        ("/close", Reason::CANCEL),
        ("/drop", Reason::CANCEL),
    ];
    for (path, reason) in reasons {
        let error = http2_get(&mut requests, path).await.unwrap_err();
        assert_eq!(error.reason(), Some(reason), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_a_cut_is_read() {
    let server = Server::new(Protocol::Http2, |turn: Turn| async move {
        let mut stream = turn.reply.open(Response::new(())).await;
        stream.send("half").await;
        stream.cut().await;
    });
    let mut requests = http2(&server).await;

    let (response, _) = requests.send_request(http2_request("/"), true).unwrap();
    let mut body = response.await.unwrap().into_body();

    assert_eq!(body.data().await.unwrap().unwrap(), "half");
    let error = body.data().await.unwrap().unwrap_err();
    assert_eq!(error.reason(), Some(Reason::CANCEL));
}

/// An h2 client forgets unread data when a stream is reset, so this one reads the frames itself.
#[tokio::test(start_paused = true)]
async fn a_reset_does_not_overtake_what_was_sent_before() {
    let server = Server::new(Protocol::Http2, |turn: Turn| async move {
        let mut stream = turn.reply.open(Response::new(())).await;
        stream.send("half").await;
        stream.reset();
    });
    let mut client = ask_in_frames(&server).await;

    let frames = frames_until(&mut client, RST_STREAM).await;

    let kinds = frames.iter().map(|frame| frame.kind).filter(|kind| *kind <= RST_STREAM);
    assert!(kinds.eq([HEADERS, DATA, RST_STREAM]), "{frames:?}");
}

#[tokio::test(start_paused = true)]
async fn a_graceful_goaway_finishes_what_is_under_way() {
    let server = Server::new(Protocol::Http2, slow);
    let mut requests = http2(&server).await;
    let (response, _) = requests.send_request(http2_request("/"), true).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;

    server.go_away(Processed::All);

    assert_eq!(response.await.unwrap().status(), 200);
    let error = match requests.ready().await {
        Ok(mut requests) => http2_get(&mut requests, "/").await.unwrap_err(),
        Err(error) => error,
    };
    assert!(error.is_go_away() || error.is_io(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_abrupt_goaway_names_the_last_stream_and_breaks_it_off() {
    let server = Server::new(Protocol::Http2, slow);
    let mut client = ask_in_frames(&server).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    server.go_away(Processed::SoFar(Reason::ENHANCE_YOUR_CALM));

    let frames = frames_until(&mut client, GOAWAY).await;
    let last_stream_and_reason = [0, 0, 0, 1, 0, 0, 0, 11];
    assert_eq!(frames.last().unwrap().payload, last_stream_and_reason);
    assert_eq!(client.end().await.unwrap(), 0, "closed, and not a frame more");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_with_a_goaway() {
    let server = Server::new(Protocol::Http2, ok);
    let mut requests = http2(&server).await;
    http2_get(&mut requests, "/").await.unwrap();

    server.close_idle();
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(server.open_connections(), 0);
}

#[tokio::test]
async fn a_dropped_connection_takes_its_streams_along() {
    let server = Server::new(Protocol::Http2Tls, |turn: Turn| async move {
        turn.reply.drop_connection();
    });
    let raw = TcpStream::connect(server.listen().await.unwrap()).await.unwrap();
    let secured = handshake(raw, server.protocol(), server.authority()).await.unwrap();
    let mut requests = http2_over(secured).await;

    let error = http2_get(&mut requests, "/").await.unwrap_err();

    assert!(error.is_io(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn there_are_no_raw_bytes_to_write() {
    let server = Server::new(Protocol::Http2, |turn: Turn| async move {
        let reply = turn.reply.raw().expect_err("raw bytes on HTTP/2");
        reply.respond(Response::new(Bytes::new())).await;
    });
    let mut requests = http2(&server).await;

    assert_eq!(http2_get(&mut requests, "/").await.unwrap().0, 200);
}

async fn ok(turn: Turn) {
    turn.reply.respond(Response::new(Bytes::new())).await;
}

async fn slow(turn: Turn) {
    tokio::time::sleep(Duration::from_secs(60)).await;
    ok(turn).await;
}

#[derive(Debug)]
struct Frame {
    kind: u8,
    payload: Vec<u8>,
}

/// Asks for `/` on stream 1.
async fn ask_in_frames(server: &Server) -> Client {
    let mut client = Client::dial(server);
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    client.send([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]).await;
    client.send([0, 0, 3, HEADERS, END_STREAM | END_HEADERS, 0, 0, 0, 1]).await;
    // `:method GET`, `:scheme http`, `:path /`: numbers 2, 6 and 4 of HPACK's static table.
    client.send([0x82, 0x86, 0x84]).await;
    client
}

async fn frames_until(client: &mut Client, last: u8) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let mut head = [0; 9];
        client.0.read_exact(&mut head).await.unwrap();
        let [length @ .., kind, _, _, _, _, _] = head;
        let mut payload = vec![0; usize::from(length[1]) << 8 | usize::from(length[2])];
        client.0.read_exact(&mut payload).await.unwrap();
        frames.push(Frame { kind, payload });
        if kind == last {
            return frames;
        }
    }
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
