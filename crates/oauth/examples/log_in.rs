//! Logs in, calls a tool, and logs out again, against servers that it starts itself.
//!
//! `cargo run -p ridethrough-oauth --example log_in`
//!
//! A real program has `person(Browser::new())` in place of the robot, and no `store`, so that its logins are
//! kept in files.

#[allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    reason = "the servers of the tests can do more than an example needs"
)]
#[path = "../tests/oauth/support/mod.rs"]
mod support;

use ridethrough::{Client, Era};
use ridethrough_oauth::person::from_fn;
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{KeepClient, OAuth};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = support::World::start().await;
    let robot = from_fn(|prompt| {
        println!("{prompt}");
        let url = prompt.url.clone();
        tokio::spawn(async move { drop(support::consent(&url).await) });
    });

    let builder = Client::builder(&world.mcp_url()).no_proxy().eras(Era::Legacy);
    let oauth = OAuth::new("my app").store(MemoryStore::default()).person(robot);
    let account = oauth.account(&builder)?;
    let client = builder.credentials(account.clone()).build()?;

    // The server says 401; the client logs in and calls again.
    let result = client.call_tool("hello", serde_json::json!({})).await?;
    println!("the tool says {}", result.text());
    println!("{}", account.status().await?);

    println!("{:?}", account.log_out(KeepClient::No).await?);
    println!("{}", account.status().await?);
    Ok(())
}
