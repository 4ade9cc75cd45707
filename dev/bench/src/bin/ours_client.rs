//! The client of this workspace as a contestant, used as an application does: `call_tool`, with a typed
//! result.
//!
//! ```text
//! ours-client [--trust FILE] URL
//! ```
//!
//! It speaks to legacy servers only, as all other contestants do. `FILE` has certificates to trust.

use anyhow::{Context, Result, ensure};
use ridethrough::model::ToolResult;
use ridethrough::{Client, Era};
use ridethrough_bench::contest;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    contest::obey("ours", env!("CARGO_PKG_VERSION"), Ours::connect(&words).await).await
}

#[derive(Clone)]
struct Ours {
    client: Client,
    url: String,
    arguments: Value,
}

impl Ours {
    async fn connect(words: &[String]) -> Result<Self> {
        let mut words = words.iter();
        let mut url = words.next().context("the URL is missing")?;
        let mut roots = None;
        if url == "--trust" {
            roots = Some(std::fs::read(words.next().context("the file is missing")?)?);
            url = words.next().context("the URL is missing")?;
        }
        let mut builder = Client::builder(url).eras(Era::Legacy);
        if let Some(roots) = roots {
            builder = builder.root_certificates(roots);
        }
        let client = builder.build()?;
        client.connect().await?;
        Ok(Self { client, url: url.clone(), arguments: json!({ "text": contest::TEXT }) })
    }
}

impl contest::Client for Ours {
    async fn echo(&self) -> Result<()> {
        let result = self.client.call_tool("echo", self.arguments.clone()).await?;
        check(&result, contest::TEXT)
    }

    async fn big(&self) -> Result<()> {
        let result = self.client.call_tool("big", ()).await?;
        ensure!(result.structured_content.is_some(), "the rows are missing");
        check(&result, "done")
    }

    async fn another(&self) -> Result<Self> {
        let client = Client::builder(&self.url).eras(Era::Legacy).build()?;
        client.connect().await?;
        Ok(Self { client, ..self.clone() })
    }
}

fn check(result: &ToolResult, wanted: &str) -> Result<()> {
    let text = result.content.first().and_then(|it| it.as_text());
    ensure!(text == Some(wanted), "the wrong text came back: {text:?}");
    Ok(())
}
