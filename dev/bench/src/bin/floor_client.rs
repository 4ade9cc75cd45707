//! A minimal client: it posts with hyper-util's pooled client and reads the body. It parses nothing and
//! recovers from nothing.

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client as Pooled;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use ridethrough_bench::contest;
use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // `[--tool NAME] URL`
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let floor = match *words {
        ["--tool", tool, url] => Floor::connect(url, tool).await,
        [url] => Floor::connect(url, "echo").await,
        _ => Err(anyhow!("the URL is missing")),
    };
    contest::obey("floor", "hyper-util", floor).await
}

#[derive(Clone)]
struct Floor {
    http: Pooled<HttpConnector, Full<Bytes>>,
    url: Uri,
    session: HeaderValue,
    echo: Bytes,
    /// A standing stream, which is kept open and not read.
    _standing: Option<Arc<Incoming>>,
}

impl Floor {
    async fn connect(url: &str, tool: &str) -> Result<Self> {
        let url: Uri = url.parse()?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = Pooled::builder(TokioExecutor::new()).build(connector);
        let session = HeaderValue::from_static("");
        let call =
            |text| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{text}}}"#);
        let text = format!(r#"{{"name":"{tool}","arguments":{{"text":"{}"}}}}"#, contest::TEXT);
        let mut floor = Self { http, url, session, echo: call(text).into(), _standing: None };
        floor.session = floor.begin().await?;
        // A proxy that answers with an error would look fast: the text must come back once.
        let answer = floor.http.request(floor.request(Method::POST, floor.echo.clone())?).await?;
        let answer = answer.into_body().collect().await?.to_bytes();
        let is_echo = memchr::memmem::find(&answer, contest::TEXT.as_bytes()).is_some();
        ensure!(is_echo, "`{tool}` is answered by {}", String::from_utf8_lossy(&answer));
        Ok(floor)
    }

    async fn begin(&self) -> Result<HeaderValue> {
        let request = Request::post(&self.url)
            .header("content-type", "application/json")
            .header("accept", ACCEPT)
            .body(Full::new(Bytes::from_static(INITIALIZE)))?;
        let response = self.http.request(request).await?;
        let session = response.headers().get("mcp-session-id").cloned();
        response.into_body().collect().await?;
        let session = session.context("the server gave no session")?;
        let told = Self { session: session.clone(), ..self.clone() };
        let told = told.request(Method::POST, Bytes::from_static(INITIALIZED))?;
        self.http.request(told).await?.into_body().collect().await?;
        Ok(session)
    }

    fn request(&self, method: Method, body: Bytes) -> Result<Request<Full<Bytes>>> {
        Ok(Request::builder()
            .method(method)
            .uri(&self.url)
            .header("content-type", "application/json")
            .header("accept", ACCEPT)
            .header("mcp-session-id", &self.session)
            .header("mcp-protocol-version", "2025-11-25")
            .body(Full::new(body))?)
    }

    async fn post(&self, body: Bytes, least: usize) -> Result<()> {
        let response: Response<Incoming> =
            self.http.request(self.request(Method::POST, body)?).await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        ensure!(status.is_success() && length >= least, "{status} with {length} bytes");
        Ok(())
    }
}

impl contest::Client for Floor {
    async fn echo(&self) -> Result<()> {
        self.post(self.echo.clone(), contest::TEXT.len()).await
    }

    async fn big(&self) -> Result<()> {
        self.post(Bytes::from_static(BIG), 1_000_000).await
    }

    async fn another(&self) -> Result<Self> {
        let mut other = self.clone();
        other.session = other.begin().await?;
        let response = other.http.request(other.request(Method::GET, Bytes::new())?).await?;
        let mut standing = response.into_body();
        // The first bytes of the server; nothing follows them.
        standing.frame().await.context("the stream ended")??;
        other._standing = Some(Arc::new(standing));
        Ok(other)
    }
}

const ACCEPT: &str = "application/json, text/event-stream";
const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}}"#;
const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const BIG: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{}}}"#;
