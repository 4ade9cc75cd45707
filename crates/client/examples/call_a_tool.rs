//! Lists the tools of a server and calls one.
//!
//! ```text
//! cargo run -p ridethrough --example call_a_tool [URL TOOL ARGUMENTS]
//! ```
//!
//! Without a URL it starts a small server of its own.

use ridethrough::Client;
use ridethrough_lab::{Mcp, Protocol, Server};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let own = Server::new(Protocol::Http1, Mcp::new());
    let url = match arguments.next() {
        Some(url) => url,
        None => format!("http://{}/mcp", own.listen().await?),
    };
    let tool = arguments.next().unwrap_or_else(|| "echo".to_owned());
    let given: Value = match arguments.next() {
        Some(text) => serde_json::from_str(&text)?,
        None => json!({ "text": "hello" }),
    };

    let client = Client::new(&url)?;
    println!("connected, speaking {}", client.connect().await?.version);
    for tool in client.tools().await? {
        println!("tool {}", tool.name);
    }
    match client.call_tool(&tool, given).await {
        Ok(result) if result.is_error => println!("{tool} failed: {}", result.text()),
        Ok(result) => println!("{tool} said: {}", result.text()),
        // The report says what happened, what was tried, and what to do.
        Err(error) => eprintln!("{}", error.report()),
    }
    client.close().await;
    Ok(())
}
