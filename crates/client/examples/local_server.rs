//! Calls a local server: a child process, which is started again when it dies.
//!
//! The server is this example itself, started with an argument. Its tool `crash` ends it.
//!
//! ```text
//! cargo run -p ridethrough --example local_server
//! ```

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use ridethrough::{Client, Command};

    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let client = Client::spawn(Command::new(std::env::current_exe()?).arg("serve"))?;

    println!("answered: {}", client.call_tool("greet", ()).await?.text());
    // The call is not marked as idempotent and may have run, so it is not sent again.
    if let Err(error) = client.call_tool("crash", ()).await {
        println!("{}", error.report());
    }
    // The next call finds a new server.
    println!("answered: {}", client.call_tool("greet", ()).await?.text());
    client.close().await;
    Ok(())
}

/// Runs the server: one message per line, in and out.
fn serve() -> Result<(), Box<dyn std::error::Error>> {
    use serde_json::{Value, json};

    for line in std::io::stdin().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = match (message["method"].as_str(), message["params"]["name"].as_str()) {
            (Some("initialize"), _) => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "local", "version": "1" },
            }),
            (Some("tools/call"), Some("crash")) => {
                eprintln!("something went terribly wrong");
                std::process::exit(1);
            }
            (Some("tools/call"), _) => {
                let text = format!("hello from process {}", std::process::id());
                json!({ "content": [{ "type": "text", "text": text }] })
            }
            _ => json!({}),
        };
        if !message["id"].is_null() {
            println!("{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        }
    }
    Ok(())
}
