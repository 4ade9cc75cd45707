//! A server of the lab and a client, joined by pipes or sockets.

#[path = "../common/pipes.rs"]
mod pipes;

use std::net::SocketAddr;
use std::time::Duration;

use ridethrough::{Client, ClientBuilder, Era, Error, Json};
use ridethrough_lab::{Mcp, Protocol, Server, When};
use serde_json::{Value, json};

use self::pipes::Pipes;

/// Runs a scenario on every carrier, in memory and under paused time.
macro_rules! on_every_carrier {
    ($($(#[$meta:meta])* async fn $name:ident($rig:ident: Rig) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn scenario($rig: Rig) $body

            #[tokio::test(start_paused = true)]
            async fn over_http1() {
                scenario(Rig::over(Protocol::Http1)).await;
            }

            #[tokio::test(start_paused = true)]
            async fn over_http1_tls() {
                scenario(Rig::over(Protocol::Http1Tls)).await;
            }

            #[tokio::test(start_paused = true)]
            async fn over_http2_tls() {
                scenario(Rig::over(Protocol::Http2Tls)).await;
            }
        }
    )*};
}

/// Runs a scenario on every carrier over real sockets and real time.
macro_rules! on_every_socket {
    ($($(#[$meta:meta])* async fn $name:ident($rig:ident: Rig) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn scenario($rig: Rig) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn over_http1() {
                scenario(Rig::on_sockets(Protocol::Http1).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn over_http1_tls() {
                scenario(Rig::on_sockets(Protocol::Http1Tls).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn over_http2_tls() {
                scenario(Rig::on_sockets(Protocol::Http2Tls).await).await;
            }
        }
    )*};
}

/// A server, and the way to reach it.
pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) mcp: Mcp,
    address: Option<SocketAddr>,
}

impl Rig {
    /// Creates a server at the other end of pipes.
    pub(crate) fn over(protocol: Protocol) -> Self {
        let mcp = Mcp::new();
        let server = Server::new(protocol, mcp.clone());
        Self { server, mcp, address: None }
    }

    /// Creates a server on a port of this machine.
    pub(crate) async fn on_sockets(protocol: Protocol) -> Self {
        let mcp = Mcp::new();
        let server = Server::new(protocol, mcp.clone());
        let address = Some(server.listen().await.unwrap());
        Self { server, mcp, address }
    }

    /// Creates a client with the default settings and a fixed seed.
    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        self.builder_to(&self.url())
    }

    /// Returns the builder of a client of this URL, whatever its host: pipes lead to the server.
    pub(crate) fn builder_to(&self, url: &str) -> ClientBuilder {
        let builder = match self.address {
            None => Client::builder(url).dial(Pipes(self.server.clone())),
            Some(_) => Client::builder(url),
        };
        // The tests count requests, those of a handshake among them.
        let builder = builder.eras(Era::Legacy).seed(7);
        if self.server.protocol().is_tls() {
            builder.root_certificates(self.server.authority().root_pem())
        } else {
            builder
        }
    }

    pub(crate) fn url(&self) -> String {
        let scheme = self.server.protocol().scheme();
        match self.address {
            None => format!("{scheme}://server.test/mcp"),
            Some(address) => format!("{scheme}://localhost:{}/mcp", address.port()),
        }
    }

    /// Returns how often the server was asked this.
    pub(crate) fn count(&self, when: When) -> usize {
        self.mcp.count(&when)
    }

    /// Returns when the server was asked this, counted from the making of the server.
    pub(crate) fn times(&self, when: &When) -> Vec<Duration> {
        self.mcp.log().iter().filter(|entry| when.holds(entry)).map(|entry| entry.at).collect()
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.server.protocol().is_http2()
    }
}

/// Runs a future on a runtime of its own, with time paused.
pub(crate) fn paused<T>(life: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(life)
}

/// Calls a tool with a key by which its executions can be told apart.
pub(crate) async fn call(client: &Client, tool: &str, key: &str) -> Result<Json, Error> {
    client.request("tools/call", params(tool, key)).await
}

/// Calls once, and waits until there is a session and an idle connection.
pub(crate) async fn settle(client: &Client) {
    call(client, "echo", "settle").await.unwrap();
    tokio::time::sleep(secs(1)).await;
}

pub(crate) fn params(tool: &str, key: &str) -> Value {
    json!({ "name": tool, "arguments": { "key": key } })
}

/// Returns a tool result with this text.
pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
