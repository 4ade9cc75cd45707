//! Bodies of all sizes, and who waits for whom.

use std::time::Duration;

use ridethrough_server::Server;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, timeout};

use crate::rig::{Rig, TOKEN, able, ask};

#[tokio::test(start_paused = true)]
async fn a_large_body_does_not_wait_for_huge_ones() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    // They take all the room that huge bodies have, and then say nothing more.
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let mut connection = connect(&rig.server);
        begin_body(&mut connection, "content-length: 16000000").await;
        let _ = timeout(Duration::from_secs(1), connection.write_all(&[b' '; 1 << 20])).await;
        stalled.push(connection);
    }
    let began = Instant::now();

    let large = rig.begin_to_send(sized(1, 1_000_000));
    let heard = puppet.hear().await;
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(large.await.unwrap().status, 200);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());

    let huge = rig.begin_to_send(sized(2, 2_000_000));
    let heard = puppet.hear().await;
    puppet.answer(&heard["id"], json!({})).await;
    assert_eq!(huge.await.unwrap().status, 200);
    let waited = began.elapsed();
    assert!(waited > Duration::from_secs(1), "it waits for those before it: {waited:?}");
    assert!(waited < Duration::from_secs(10), "who sends nothing keeps no room: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn bodies_that_trickle_hold_up_others_for_seconds_only() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({})).await;
    for _ in 0..17 {
        let mut connection = connect(&rig.server);
        begin_body(&mut connection, "content-length: 1000000").await;
        tokio::spawn(async move {
            let _ = connection.write_all(&[b' '; 70_000]).await;
            while connection.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();

    let large = rig.begin_to_send(sized(1, 100_000));
    let heard = puppet.hear().await;
    puppet.answer(&heard["id"], json!({})).await;

    assert_eq!(large.await.unwrap().status, 200);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_too_large_are_read_at_a_bounded_rate() {
    let rig = Rig::new();
    let began = Instant::now();

    for _ in 0..32 {
        let mut connection = connect(&rig.server);
        begin_body(&mut connection, "transfer-encoding: chunked").await;
        let chunk = [b"10000\r\n", &[b' '; 1 << 16][..], b"\r\n"].concat();
        // It is refused, and closed, in the middle.
        while connection.write_all(&chunk).await.is_ok() {}
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }

    // The first may come at once, and the piece by which each is refused does not count.
    let threads = (std::thread::available_parallelism().unwrap().get() / 2).max(1);
    let at_least = Duration::from_secs(30 * 16) / 256 / u32::try_from(threads).unwrap();
    assert!(began.elapsed() >= at_least, "{:?}, {at_least:?}", began.elapsed());
}

fn connect(server: &Server) -> DuplexStream {
    let (ours, theirs) = duplex(64 * 1024);
    let server = server.clone();
    tokio::spawn(async move { server.serve(theirs).await });
    ours
}

/// Sends the head of a request whose body is as long as this header says.
async fn begin_body(connection: &mut DuplexStream, length: &str) {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n{length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
}

/// Returns a call with so many bytes of arguments.
fn sized(id: u32, bytes: usize) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    ask(id, "tools/call", able(json!({"name": "t", "arguments": {"text": "x".repeat(bytes)}})))
}
