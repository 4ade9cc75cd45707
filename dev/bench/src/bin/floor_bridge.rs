//! A minimal bridge: reads a line, posts it, writes the answer as a line.
//!
//! It recovers from nothing, knows no session, and has one request under way at a time. What our bridge costs
//! beyond this is the price of its promises.

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::net::TcpStream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url: Uri = std::env::args().nth(1).context("the URL is missing")?.parse()?;
    let authority = url.authority().context("the URL has no host")?;
    let socket = TcpStream::connect(authority.as_str()).await?;
    socket.set_nodelay(true)?;
    let (mut http, connection) = handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);

    let mut lines = BufReader::new(stdin()).lines();
    let mut out = stdout();
    while let Some(line) = lines.next_line().await? {
        if let Some(answer) = post(&mut http, &url, line).await? {
            out.write_all(&answer).await?;
            out.write_all(b"\n").await?;
            out.flush().await?;
        }
    }
    Ok(())
}

/// Posts a message, and returns the message that the server answered with, if any.
async fn post(
    http: &mut SendRequest<Full<Bytes>>,
    url: &Uri,
    line: String,
) -> Result<Option<Bytes>> {
    let request = Request::post(url.path())
        .header("host", url.authority().context("the URL has no host")?.as_str())
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(Full::new(Bytes::from(line)))?;
    http.ready().await?;
    let response = http.send_request(request).await?;
    if response.status() == StatusCode::ACCEPTED {
        response.into_body().collect().await?;
        return Ok(None);
    }
    let is_stream =
        response.headers().get("content-type").is_some_and(|it| it == "text/event-stream");
    let body = response.into_body().collect().await?.to_bytes();
    Ok(Some(if is_stream { data_of(&body) } else { body }))
}

/// Returns the text behind `data:` in the one event that this server sends.
fn data_of(body: &Bytes) -> Bytes {
    let lines = body.split(|it| *it == b'\n');
    let data = lines.filter_map(|line| line.strip_prefix(b"data: ")).next();
    data.map_or_else(Bytes::new, |data| body.slice_ref(data))
}
