//! How a connection was made, and how long each step took.

use std::net::SocketAddr;
use std::time::Duration;

/// The steps that made a connection. A step that a dial does not know is `None`.
///
/// Through a proxy, name and socket are the proxy's, and TLS is the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steps {
    /// How long it took to find the addresses of the host.
    pub resolved: Option<Duration>,
    /// How long it took until one of them was connected.
    pub connected: Option<Duration>,
    /// How long the TLS handshake took.
    pub secured: Option<Duration>,
    /// The address that was connected.
    pub peer: Option<SocketAddr>,
    /// The version of TLS, as people write it.
    pub tls: Option<&'static str>,
}
