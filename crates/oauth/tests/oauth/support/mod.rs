//! An MCP server, two authorization servers, and a person who consents to everything.

mod authorization;
mod http;
mod mcp;
mod possession;
mod signer;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ridethrough::server::Eras;
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_oauth::person::{FunctionPerson, LoginPrompt, from_fn};
use ridethrough_oauth::{ClientBuilderExt, OAuth, Timestamp};

pub(crate) use http::{Answer, get, send};
pub(crate) use signer::Signer;
pub(crate) use world::{Iss, Rotation, World};

/// Creates a client of the world's MCP server.
pub(crate) fn client(world: &World, oauth: OAuth) -> Client {
    builder(world).oauth(oauth.clock(world.clock.read())).unwrap().build().unwrap()
}

pub(crate) fn builder(world: &World) -> ClientBuilder {
    Client::builder(&world.mcp_url()).no_proxy().eras(Eras::Only(Era::Legacy))
}

/// Calls the tool that every client with a token may call.
pub(crate) async fn call(client: &Client) -> Result<String, ridethrough::Error> {
    let called = client.call_tool("hello", serde_json::json!({})).await;
    called.map(|result| result.text())
}

/// Returns a person who opens the URL, consents, and is sent back.
pub(crate) fn robot() -> FunctionPerson<impl Fn(&LoginPrompt) + Send + Sync + 'static> {
    from_fn(|prompt| {
        let url = prompt.url.clone();
        tokio::spawn(async move { drop(consent(&url).await) });
    })
}

/// Opens the authorization URL, and the callback that it leads to.
pub(crate) async fn consent(url: &str) -> Answer {
    let location = get(url).await.header("location").expect("the login is redirected").to_owned();
    get(&location).await
}

/// The system's clock, which tests set forward, and back by at most as much.
#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<AtomicU64>);

impl TestClock {
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
    }

    pub(crate) fn set_back(&self, time: Duration) {
        self.0.fetch_sub(time.as_millis() as u64, Ordering::SeqCst);
    }

    pub(crate) fn read(&self) -> impl Fn() -> Timestamp + Send + Sync + 'static {
        let ahead = self.0.clone();
        move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            Timestamp::from_unix_millis(now.as_millis() as u64 + ahead.load(Ordering::SeqCst))
        }
    }
}

/// A folder that is removed when this is dropped.
pub(crate) struct Folder(pub(crate) std::path::PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let name = format!("ridethrough-oauth-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.0.join("auth")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
