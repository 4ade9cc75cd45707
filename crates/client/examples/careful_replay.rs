//! Shows which calls are sent again after a fault, and which are not.
//!
//! ```text
//! cargo run -p ridethrough --example careful_replay
//! ```
//!
//! The server runs each call and then drops the connection without an answer. The client cannot know whether
//! such a call ran; it repeats only calls that may be repeated, and reports the doubt for the others.

use ridethrough::Client;
use ridethrough_lab::{Mcp, Protocol, Server, Times, When};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mcp = Mcp::new();
    let server = Server::new(Protocol::Http1, mcp.clone());
    let client = Client::new(&format!("http://{}/mcp", server.listen().await?))?;
    // Annotations say what a tool does; the client learns them from the list.
    client.tools().await?;

    for tool in ["deploy", "read"] {
        break_once(&mcp, tool);
        match client.call_tool(tool, ()).await {
            Ok(_) => println!("{tool}: answered after {} runs", mcp.executions(tool)),
            Err(error) => println!("{}\n", error.report()),
        }
    }

    break_once(&mcp, "put");
    client.call_tool("put", ()).idempotent().await?;
    println!("put: answered after {} runs, by the caller's word", mcp.executions("put"));
    client.close().await;
    Ok(())
}

/// Makes the next call of this tool run and lose its answer.
fn break_once(mcp: &Mcp, tool: &str) {
    mcp.rule(When::tool(tool), Times::Once, |ask| async {
        ask.run();
        let (_, reply) = ask.reply();
        reply.close().await;
    });
}
