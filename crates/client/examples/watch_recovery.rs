//! Watches a client ride through a restart that loses every session.
//!
//! ```text
//! cargo run -p ridethrough --example watch_recovery
//! ```

use std::time::{Duration, Instant};

use ridethrough::Client;
use ridethrough::event::{Event, Seen};
use ridethrough_lab::{Mcp, Protocol, Server};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mcp = Mcp::new();
    let server = Server::new(Protocol::Http1, mcp.clone());
    let client = Client::new(&format!("http://{}/mcp", server.listen().await?))?;

    let began = Instant::now();
    let mut events = client.events();
    tokio::spawn(async move {
        while let Some(seen) = events.next().await {
            // Calls that were answered are left out.
            if !matches!(seen, Seen::Event { event: Event::CallEnded { kind: None, .. }, .. }) {
                println!("{:6} ms  {seen:?}", began.elapsed().as_millis());
            }
        }
    });

    for number in 0..4 {
        if number == 2 {
            println!("{:6} ms  -- the server dies, and forgets", began.elapsed().as_millis());
            server.kill().await;
            mcp.forget_sessions();
            let server = server.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(700)).await;
                server.restart().await
            });
        }
        client.call_tool("deploy", json!({ "number": number })).await?;
        println!("{:6} ms  call {number} answered", began.elapsed().as_millis());
    }
    println!("4 calls, {} runs on the server", mcp.executions("deploy"));
    client.close().await;
    Ok(())
}
