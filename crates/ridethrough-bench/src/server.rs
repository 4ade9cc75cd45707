//! A server that costs as little as a server can: it answers every request at once, from memory.
//!
//! Its path says how: `/json` as JSON, `/sse` as a stream of one event.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::thread;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::runtime;

/// Starts it on a thread of its own, which lasts as long as the process.
pub(crate) fn start() -> Result<SocketAddr> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let work = move || runtime.block_on(serve(listener));
    thread::Builder::new().name("server".into()).spawn(work).context("no thread for the server")?;
    Ok(address)
}

async fn serve(listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        // Both bridges pay for what the kernel holds back; neither should.
        let _ = socket.set_nodelay(true);
        let connection = http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(socket), service_fn(answer)));
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        let is_goodbye = request.method() == Method::DELETE;
        let status = if is_goodbye { StatusCode::OK } else { StatusCode::METHOD_NOT_ALLOWED };
        return Ok(plain(status));
    }
    let is_stream = request.uri().path() == "/sse";
    let Ok(body) = request.into_body().collect().await else {
        return Ok(plain(StatusCode::BAD_REQUEST));
    };
    let body = body.to_bytes();
    let Ok(message) = serde_json::from_slice::<Message<'_>>(&body) else {
        return Ok(plain(StatusCode::BAD_REQUEST));
    };
    let Some(id) = message.id else { return Ok(plain(StatusCode::ACCEPTED)) };
    let result = match message.method {
        "initialize" => INITIALIZED,
        "tools/list" => TOOLS,
        _ => ECHO,
    };
    let json = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get());
    let (kind, text) = match is_stream {
        true => ("text/event-stream", format!("event: message\nid: 1\ndata: {json}\n\n")),
        false => ("application/json", json),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    response.headers_mut().insert("content-type", http_value(kind));
    if message.method == "initialize" {
        response.headers_mut().insert("mcp-session-id", http_value("1"));
    }
    Ok(response)
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

fn http_value(text: &'static str) -> hyper::header::HeaderValue {
    hyper::header::HeaderValue::from_static(text)
}

const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}"#;
const TOOLS: &str = r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#;
/// A hundred bytes of text.
const ECHO: &str = r#"{"content":[{"type":"text","text":"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}]}"#;
