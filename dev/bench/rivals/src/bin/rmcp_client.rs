//! The official Rust SDK as a contestant, by the calls that its documentation shows.
//!
//! ```text
//! rmcp-client [--pooled] URL
//! ```
//!
//! As it comes, its HTTP client keeps no connection for the next request. `--pooled` gives it one of
//! the same kind that does.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use bench_rivals::contest;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let url = words.pop().context("the URL is missing")?;
    let pool = if words == ["--pooled"] { Some(reqwest::Client::builder().build()?) } else { None };
    let name = if pool.is_some() { "rmcp-pooled" } else { "rmcp" };
    contest::obey(name, "3.8.0", Rival::connect(pool, url).await).await
}

#[derive(Clone)]
struct Rival {
    pool: Option<reqwest::Client>,
    url: String,
    service: Arc<RunningService<RoleClient, ()>>,
    arguments: Map<String, Value>,
}

impl Rival {
    async fn connect(pool: Option<reqwest::Client>, url: String) -> Result<Self> {
        let service = match &pool {
            None => ().serve(StreamableHttpClientTransport::from_uri(url.as_str())).await?,
            Some(client) => {
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                ().serve(StreamableHttpClientTransport::with_client(client.clone(), config)).await?
            }
        };
        let arguments = [("text".to_owned(), contest::TEXT.into())].into_iter().collect();
        Ok(Self { pool, url, service: Arc::new(service), arguments })
    }
}

impl contest::Client for Rival {
    async fn echo(&self) -> Result<()> {
        let params = CallToolRequestParams::new("echo").with_arguments(self.arguments.clone());
        check(&self.service.call_tool(params).await?, contest::TEXT)
    }

    async fn big(&self) -> Result<()> {
        let result = self.service.call_tool(CallToolRequestParams::new("big")).await?;
        ensure!(result.structured_content.is_some(), "the rows are missing");
        check(&result, "done")
    }

    async fn another(&self) -> Result<Self> {
        Self::connect(self.pool.clone(), self.url.clone()).await
    }
}

fn check(result: &CallToolResult, wanted: &str) -> Result<()> {
    let text = result.content.first().and_then(|it| it.as_text()).map(|it| it.text.as_str());
    ensure!(text == Some(wanted), "the wrong text came back: {text:?}");
    Ok(())
}
