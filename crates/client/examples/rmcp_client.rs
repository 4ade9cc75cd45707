//! Runs the official SDK's typed client over this one, through a restart and a call in doubt.
//!
//! ```text
//! cargo run -p ridethrough --features rmcp --example rmcp_client
//! ```
//!
//! It starts a small server of its own.

use std::time::Duration;

use ridethrough::Client;
use ridethrough::rmcp::Facts;
use ridethrough_lab::{Mcp, Protocol, Server, Times, When};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mcp = Mcp::new();
    let server = Server::new(Protocol::Http1, mcp.clone());
    let url = format!("http://{}/mcp", server.listen().await?);

    // The one line that changes. Before: `().serve(StreamableHttpClientTransport::from_uri(url)).await?`
    let service = ().serve(Client::new(&url)?).await?;

    for tool in service.list_all_tools().await? {
        println!("tool {}", tool.name);
    }

    println!("-- the server dies, and forgets its sessions");
    server.kill().await;
    mcp.forget_sessions();
    let dead = server.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        dead.restart().await
    });
    let result = service.call_tool(CallToolRequestParams::new("echo")).await?;
    println!("a call made meanwhile was answered: {} part(s)", result.content.len());

    println!("-- the connection breaks while a call is with the server");
    mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        ask.run();
        let (_, reply) = ask.reply();
        reply.close().await;
    });
    if let Err(error) = service.call_tool(CallToolRequestParams::new("deploy")).await {
        println!("{error}");
        if let Some(facts) = Facts::of(&error) {
            println!("may have run: {}, after {} attempt(s)", facts.may_have_run, facts.attempts);
        }
    }
    service.cancel().await?;
    Ok(())
}
