//! `reqwest` as a contestant: it posts and reads the body, as the floor does. Nothing is parsed.
//!
//! ```text
//! reqwest-client URL
//! ```

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bench_rivals::contest;
use reqwest::{Client, RequestBuilder, Response};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).context("the URL is missing")?;
    contest::obey("reqwest", "0.13", Rival::connect(Client::builder().build()?, url).await).await
}

#[derive(Clone)]
struct Rival {
    http: Client,
    url: Arc<str>,
    session: Arc<str>,
    /// A standing stream, which is read by nobody.
    _standing: Option<Arc<Response>>,
}

impl Rival {
    async fn connect(http: Client, url: String) -> Result<Self> {
        let asked = http.post(&url).header("content-type", "application/json");
        let response = asked.header("accept", ACCEPT).body(INITIALIZE).send().await?;
        let session = response.headers().get("mcp-session-id").context("no session")?;
        let session = session.to_str()?.into();
        response.bytes().await?;
        Ok(Self { http, url: url.into(), session, _standing: None })
    }

    fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        request
            .header("content-type", "application/json")
            .header("accept", ACCEPT)
            .header("mcp-session-id", &*self.session)
            .header("mcp-protocol-version", "2025-11-25")
    }

    async fn call(&self, params: String, least: usize) -> Result<()> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let response = self.with_headers(self.http.post(&*self.url)).body(body).send().await?;
        let status = response.status();
        let length = response.bytes().await?.len();
        ensure!(status.is_success() && length >= least, "{status} with {length} bytes");
        Ok(())
    }
}

impl contest::Client for Rival {
    async fn echo(&self) -> Result<()> {
        let params = format!(r#"{{"name":"echo","arguments":{{"text":"{}"}}}}"#, contest::TEXT);
        self.call(params, contest::TEXT.len()).await
    }

    async fn big(&self) -> Result<()> {
        self.call(r#"{"name":"big","arguments":{}}"#.to_owned(), 1_000_000).await
    }

    async fn another(&self) -> Result<Self> {
        let mut other = Self::connect(self.http.clone(), self.url.to_string()).await?;
        let standing = other.with_headers(other.http.get(&*other.url)).send().await?;
        other._standing = Some(Arc::new(standing));
        Ok(other)
    }
}

const ACCEPT: &str = "application/json, text/event-stream";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"reqwest","version":"1"}}}"#;
