//! A caller that costs little: it posts prepared bytes over one connection, and checks that an answer came.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::contest::TEXT;

/// One connection, and the session that it uses at the moment.
pub(crate) struct HttpCaller {
    http: SendRequest<Full<Bytes>>,
    url: Uri,
    pub(crate) session: Option<HeaderValue>,
}

impl HttpCaller {
    pub(crate) async fn connect(url: &str) -> Result<Self> {
        let url: Uri = url.parse()?;
        let authority = url.authority().context("the URL has no host")?;
        let socket = TcpStream::connect(authority.as_str()).await?;
        socket.set_nodelay(true)?;
        let (http, connection) = handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        Ok(Self { http, url, session: None })
    }

    /// Begins a session, which is used from here on.
    pub(crate) async fn begin(&mut self) -> Result<HeaderValue> {
        self.session = None;
        let response = self.send(Method::POST, Bytes::from_static(INITIALIZE)).await?;
        let status = response.status();
        let session = response.headers().get("mcp-session-id").cloned();
        response.into_body().collect().await?;
        let session = session.with_context(|| format!("{status} and no session"))?;
        self.session = Some(session.clone());
        let told = self.send(Method::POST, Bytes::from_static(INITIALIZED)).await?;
        told.into_body().collect().await?;
        Ok(session)
    }

    /// Calls a tool, and returns the time until the whole answer was there.
    pub(crate) async fn call(&mut self, tool: &str) -> Result<Duration> {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{TEXT}"}}}}}}"#
        );
        let began = Instant::now();
        let response = self.send(Method::POST, body.into()).await?;
        let status = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        let took = began.elapsed();
        let is_good = status.is_success() && answer.len() > TEXT.len();
        ensure!(is_good, "{status}: {}", String::from_utf8_lossy(&answer));
        ensure!(
            memchr::memmem::find(&answer, b"\"error\"").is_none(),
            "{}",
            String::from_utf8_lossy(&answer)
        );
        Ok(took)
    }

    /// Ends the session.
    pub(crate) async fn end(&mut self) -> Result<()> {
        let response = self.send(Method::DELETE, Bytes::new()).await?;
        ensure!(response.status().is_success(), "{}", response.status());
        self.session = None;
        Ok(())
    }

    /// Opens the standing stream of the session. It stays open as long as what is returned is kept.
    pub(crate) async fn listen(mut self) -> Result<(Self, Incoming)> {
        let response = self.send(Method::GET, Bytes::new()).await?;
        ensure!(response.status().is_success(), "{}", response.status());
        let stream = response.into_body();
        Ok((self, stream))
    }

    async fn send(&mut self, method: Method, body: Bytes) -> Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(self.url.path())
            .header("host", self.url.authority().context("the URL has no host")?.as_str())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header(CONNECTION, "keep-alive");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        self.http.ready().await?;
        Ok(self.http.send_request(request.body(Full::new(body))?).await?)
    }
}

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
