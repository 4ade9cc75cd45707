//! A gateway of ours between a client and the server of a scenario: what the lab sees then is what the gateway
//! does with the faults of a server.
//!
//! ```text
//!   client ──▶ gateway, in this process ──▶ the lab's faulty server
//! ```
//! The token or login of a script is the gateway's own: it is shown to the server, and never by the client.

use std::io;
use std::sync::Arc;

use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_gateway::{Connect, Gateway, GatewaySettings, ServerSettings};
use ridethrough_server::{AccessPolicy, Server, Settings};
use tokio::net::TcpListener;

/// Puts a gateway in front of the server that `begin` begins clients of.
pub(super) fn gateway(
    begin: impl Fn() -> Result<ClientBuilder, String> + Send + Sync + 'static,
) -> Server {
    let settings = ServerSettings::new(NAME, OneServer(Arc::new(begin)));
    let gateway = Gateway::new(vec![settings], GatewaySettings::default(), |_| {});
    let access = AccessPolicy::new([127, 0, 0, 1].into(), None);
    // The bounds of `ridethrough gateway`.
    let settings = Settings::default().sessions(1000).connections(1384);
    Server::new(gateway, access, settings, |_| {})
}

/// Serves a gateway on a port that is free, and begins a client of it.
pub(super) fn listen(gateway: Server) -> io::Result<ClientBuilder> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let (address, listener) = (listener.local_addr()?, TcpListener::from_std(listener)?);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let gateway = gateway.clone();
            tokio::spawn(async move { gateway.serve(connection).await });
        }
    });
    // What a server says unasked reaches a client in a session only.
    Ok(Client::builder(&format!("http://{address}{PATH}")).eras(Era::Legacy))
}

/// Returns why a scenario is left out, if it is: behind a gateway its verdict cannot be that of the client.
pub(super) fn exempt(scenario: &str) -> Option<&'static str> {
    EXEMPT.iter().find(|(id, _)| *id == scenario).map(|(_, why)| *why)
}

/// The only server behind a gateway.
struct OneServer(Arc<dyn Fn() -> Result<ClientBuilder, String> + Send + Sync>);

impl Connect for OneServer {
    fn builder(&self) -> Result<ClientBuilder, String> {
        (self.0)()
    }

    fn is_local(&self) -> bool {
        false
    }

    fn fingerprint(&self) -> String {
        NAME.to_owned()
    }
}

/// Scenarios that are left out, whatever revision the client speaks, and why.
const EXEMPT: [(&str, &str); 2] = [
    ("F8", "a deadline that a caller sets is not part of MCP: a gateway cannot know it"),
    (
        "J19",
        "the server announces a change and lists what it listed before: a gateway tells of changes",
    ),
];
const NAME: &str = "lab";
/// The endpoint at which the server has its own names.
pub(super) const PATH: &str = "/mcp/lab";

#[cfg(test)]
mod tests;
