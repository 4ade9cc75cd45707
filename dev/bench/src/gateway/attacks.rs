//! What hostile clients do. Each attack begins tasks that go on until the runtime ends.

use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::http_caller::HttpCaller;

/// One kind of attack.
pub(super) struct Attack {
    pub(super) what: &'static str,
    /// Begins it at a URL.
    pub(super) run: fn(&str),
}

pub(super) const ATTACKS: [Attack; 7] = [
    Attack { what: "2,000 heads that never end", run: |url| many(2_000, url, slow_head) },
    Attack { what: "2,000 bodies that never end", run: |url| many(2_000, url, slow_body) },
    Attack { what: "10,000 silent connections", run: |url| many(10_000, url, silence) },
    Attack { what: "32 bodies of 100 MB", run: |url| many(32, url, huge_body) },
    Attack { what: "32 bodies of five million elements", run: |url| many(32, url, many_members) },
    Attack { what: "sessions without end", run: |url| many(4, url, sessions) },
    Attack { what: "200 streams that are never read", run: |url| many(200, url, unread) },
];

/// Has so many clients do this again and again.
fn many<F>(count: usize, url: &str, attack: fn(String) -> F)
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    for _ in 0..count {
        let url = url.to_owned();
        tokio::spawn(async move {
            loop {
                // A client that is thrown out comes again.
                let _ = attack(url.clone()).await;
                sleep(AGAIN).await;
            }
        });
    }
}

async fn connect(url: &str) -> Result<(TcpStream, String)> {
    let rest = url.trim_start_matches("http://");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let socket = TcpStream::connect(host).await?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n"
    );
    Ok((socket, head))
}

async fn slow_head(url: String) -> Result<()> {
    let (mut socket, head) = connect(&url).await?;
    socket.write_all(head.as_bytes()).await?;
    loop {
        socket.write_all(b"x-more: 1\r\n").await?;
        sleep(SLOW).await;
    }
}

async fn slow_body(url: String) -> Result<()> {
    let (mut socket, head) = connect(&url).await?;
    socket.write_all(format!("{head}content-length: 1000000\r\n\r\n{{").as_bytes()).await?;
    loop {
        socket.write_all(b" ").await?;
        sleep(SLOW).await;
    }
}

async fn silence(url: String) -> Result<()> {
    let (mut socket, _) = connect(&url).await?;
    // It ends when the gateway closes it.
    socket.read_u8().await?;
    Ok(())
}

async fn huge_body(url: String) -> Result<()> {
    let (mut socket, head) = connect(&url).await?;
    let head = format!("{head}transfer-encoding: chunked\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    let chunk = [b"10000\r\n", &*vec![b' '; 1 << 16], b"\r\n"].concat();
    for _ in 0..1_600 {
        socket.write_all(&chunk).await?;
    }
    socket.write_all(b"0\r\n\r\n").await?;
    socket.read_u8().await?;
    Ok(())
}

async fn many_members(url: String) -> Result<()> {
    let (mut socket, head) = connect(&url).await?;
    let members = "{},".repeat(5_000_000);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":[{members}1]}}}}}}"#
    );
    let head = format!(
        "{head}content-length: {}\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    socket.read_u8().await?;
    Ok(())
}

async fn sessions(url: String) -> Result<()> {
    let mut caller = HttpCaller::connect(&url).await?;
    loop {
        caller.begin().await?;
    }
}

async fn unread(url: String) -> Result<()> {
    let mut caller = HttpCaller::connect(&url).await?;
    caller.begin().await?;
    let session = caller.session.clone();
    let (mut socket, head) = connect(&url).await?;
    let session = session.as_ref().and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
    let body =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{}}}"#;
    let call =
        format!("{head}mcp-session-id: {session}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // Nothing of the answers is read.
    loop {
        socket.write_all(call.as_bytes()).await?;
        sleep(SLOW).await;
    }
}

const AGAIN: Duration = Duration::from_millis(100);
const SLOW: Duration = Duration::from_secs(1);
