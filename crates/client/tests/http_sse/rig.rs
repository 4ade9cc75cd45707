//! An HTTP+SSE server of the lab and a client, joined by pipes.

#[path = "../common/pipes.rs"]
mod pipes;

use std::time::Duration;

use ridethrough::event::{Event, Events, Seen};
use ridethrough::transport::Carrier;
use ridethrough::{Client, ClientBuilder, Era, Error, Json};
use ridethrough_lab::{Entry, OldMcp, Protocol, Server, Service, When};
use serde_json::{Value, json};

use self::pipes::Pipes;

/// Runs a scenario over HTTP/1.1 and over HTTP/2.
macro_rules! on_both {
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
            async fn over_http2_tls() {
                scenario(Rig::over(Protocol::Http2Tls)).await;
            }
        }
    )*};
}

pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) old: OldMcp,
}

impl Rig {
    pub(crate) fn over(protocol: Protocol) -> Self {
        let old = OldMcp::new();
        Self::serving(protocol, old.clone(), old)
    }

    /// Creates a server whose service may do more than HTTP+SSE.
    pub(crate) fn serving(protocol: Protocol, old: OldMcp, service: impl Service) -> Self {
        Self { server: Server::new(protocol, service), old }
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        let url = format!("{}://server.test/sse", self.server.protocol().scheme());
        let builder = Client::builder(&url).dial(Pipes(self.server.clone())).seed(7);
        let builder = builder.eras(Era::Legacy);
        if self.server.protocol().is_tls() {
            builder.root_certificates(self.server.authority().root_pem())
        } else {
            builder
        }
    }

    /// Returns how often the server was asked this.
    pub(crate) fn count(&self, when: &When) -> usize {
        self.old.mcp().count(when)
    }

    pub(crate) fn log(&self) -> Vec<Entry> {
        self.old.mcp().log()
    }
}

/// Calls a tool with a key by which its executions can be told apart.
pub(crate) async fn call(client: &Client, tool: &str, key: &str) -> Result<Json, Error> {
    let params = json!({"name": tool, "arguments": {"key": key}});
    client.request("tools/call", params).await
}

/// Returns the text of a tool's result.
pub(crate) fn text(result: &Json) -> String {
    let result: Value = serde_json::from_str(result.as_str()).unwrap();
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Returns how often an event reported the fallback to HTTP+SSE.
pub(crate) fn fallbacks(events: &mut Events) -> usize {
    let mut count = 0;
    while let Some(seen) = events.try_next() {
        let Seen::Event { event, .. } = seen else { continue };
        count += usize::from(event == Event::FellBack { to: Carrier::HttpSse });
    }
    count
}

/// Lets everything happen that needs no further wait.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
