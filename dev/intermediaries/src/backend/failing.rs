//! Writes the answer of a call, and fails with it in the way that the call asked for.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::way::Way;

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Close,
    /// Every connection of the backend is reset, and its sessions are forgotten.
    Crash,
    Keep,
    Reset,
}

/// Writes `body` as an answer that is whole.
pub(super) async fn answer(
    stream: &mut TcpStream,
    status: u16,
    head: &str,
    body: &str,
) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} {JSON}{head}content-length: {length}\r\n\r\n");
    write(stream, &[head.as_bytes(), body.as_bytes()]).await
}

/// Writes `body` in this way.
pub(super) async fn fail(stream: &mut TcpStream, way: Way, body: &str) -> io::Result<After> {
    let (begin, end) = body.split_at(body.len() / 2);
    let length = body.len();
    let of_length = |length| format!("HTTP/1.1 200 {JSON}content-length: {length}\r\n\r\n");
    let chunked = format!("HTTP/1.1 200 {JSON}transfer-encoding: chunked\r\n\r\n");
    match way {
        Way::BareHint => refusal(stream, "503 Service Unavailable", "retry-after: 1\r\n", "").await,
        Way::BareUnavailable => refusal(stream, "503 Service Unavailable", "", "").await,
        Way::OwnBadGateway => refusal(stream, "502 Bad Gateway", HTML, PAGE).await,
        Way::PageOf500 => refusal(stream, "500 Internal Server Error", HTML, PAGE).await,
        Way::Rpc500WithoutId => {
            refusal(
                stream,
                "500 Internal Server Error",
                "content-type: application/json\r\n",
                NO_ID,
            )
            .await
        }
        Way::LargeAnswer | Way::SqlError => {
            answer(stream, 200, "", body).await?;
            Ok(After::Keep)
        }
        Way::CloseWithoutByte => Ok(After::Close),
        Way::Crash => Ok(After::Crash),
        Way::ResetBeforeHead => Ok(After::Reset),
        Way::Garbage => {
            closing(stream, &[&[0x16, 3, 1, 0, 0xff, 0, 2, 1].repeat(8), b"\r\n\r\n"]).await
        }
        Way::GzipLie => {
            let head = format!(
                "HTTP/1.1 200 {JSON}content-encoding: gzip\r\ncontent-length: {length}\r\n\r\n"
            );
            closing(stream, &[head.as_bytes(), body.as_bytes()]).await
        }
        Way::HalfBody => closing(stream, &[of_length(length).as_bytes(), begin.as_bytes()]).await,
        Way::HalfBodyReset => {
            closing(stream, &[of_length(length).as_bytes(), begin.as_bytes()]).await?;
            // A reset takes back what the other side has not read yet.
            sleep(Duration::from_millis(50)).await;
            Ok(After::Reset)
        }
        Way::HalfChunkedBody => {
            closing(stream, &[chunked.as_bytes(), chunk(begin).as_bytes()]).await
        }
        Way::HalfHead => closing(stream, &[b"HTTP/1.1 200 OK\r\ncontent-ty"]).await,
        Way::HeadOf1M => large_head(stream, 1024 * 1024, body).await,
        Way::HeadOf64K => large_head(stream, 64 * 1024, body).await,
        Way::InterimForever => interim(stream).await,
        Way::InvalidChunkSize => {
            closing(stream, &[chunked.as_bytes(), b"zz\r\n", body.as_bytes()]).await
        }
        Way::LengthTooLong => {
            closing(stream, &[of_length(length + 100).as_bytes(), body.as_bytes()]).await
        }
        Way::LengthTooShort => {
            closing(stream, &[of_length(length - 10).as_bytes(), body.as_bytes()]).await
        }
        Way::NoHead => closing(stream, &[PAGE.as_bytes()]).await,
        Way::SlowBody => slow(stream, &[of_length(length).as_bytes(), begin.as_bytes()], end).await,
        Way::SlowHead => slow(stream, &[], &format!("{}{body}", of_length(length))).await,
        Way::EmptyStream => {
            closing(stream, &[EVENTS, chunk(": working\n\n").as_bytes(), b"0\r\n\r\n"]).await
        }
        Way::CutInEvent => {
            closing(stream, &[EVENTS, chunk(&format!("data: {begin}")).as_bytes()]).await
        }
        Way::TwoLengths => {
            let head = format!(
                "HTTP/1.1 200 {JSON}content-length: {length}\r\ncontent-length: {}\r\n\r\n",
                length - 7
            );
            closing(stream, &[head.as_bytes(), body.as_bytes()]).await
        }
    }
}

/// Refuses a request for now, and runs nothing.
pub(super) async fn refuse_for_now(stream: &mut TcpStream) -> io::Result<After> {
    refusal(stream, "503 Service Unavailable", "retry-after: 2\r\n", "").await
}

async fn refusal(
    stream: &mut TcpStream,
    status: &str,
    head: &str,
    body: &str,
) -> io::Result<After> {
    let head = format!("HTTP/1.1 {status}\r\n{head}content-length: {}\r\n\r\n", body.len());
    write(stream, &[head.as_bytes(), body.as_bytes()]).await?;
    Ok(After::Keep)
}

async fn closing(stream: &mut TcpStream, parts: &[&[u8]]) -> io::Result<After> {
    write(stream, parts).await?;
    Ok(After::Close)
}

async fn large_head(stream: &mut TcpStream, size: usize, body: &str) -> io::Result<After> {
    let header = format!("x-large: {}\r\n", "x".repeat(size));
    answer(stream, 200, &header, body).await?;
    Ok(After::Close)
}

/// Writes one `102 Processing` after the other, which is for ever as far as a call is concerned.
async fn interim(stream: &mut TcpStream) -> io::Result<After> {
    let began = Instant::now();
    while began.elapsed() < FOR_EVER {
        write(stream, &[b"HTTP/1.1 102 Processing\r\n\r\n"]).await?;
        sleep(Duration::from_millis(50)).await;
    }
    Ok(After::Close)
}

async fn slow(stream: &mut TcpStream, begin: &[&[u8]], end: &str) -> io::Result<After> {
    write(stream, begin).await?;
    sleep(SLOW).await;
    write(stream, &[end.as_bytes()]).await?;
    Ok(After::Keep)
}

/// Writes all parts at once, so that they arrive together.
async fn write(stream: &mut TcpStream, parts: &[&[u8]]) -> io::Result<()> {
    stream.write_all(&parts.concat()).await?;
    stream.flush().await
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

const JSON: &str = "OK\r\ncontent-type: application/json\r\n";
const HTML: &str = "content-type: text/html\r\n";
const PAGE: &str = "<html><body><h1>Something went wrong</h1></body></html>\n";
const NO_ID: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}"#;
const EVENTS: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Longer than the 2 s that a proxy waits for a byte where its configuration says so.
const SLOW: Duration = Duration::from_secs(3);
const FOR_EVER: Duration = Duration::from_secs(5);
