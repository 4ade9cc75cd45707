//! The way to servers other than the client's own, such as the authorization server that a login talks to.

use ridethrough_transport::{AddressFilter, Dial, Endpoint, Proxying, Route, shown};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use super::ClientBuilder;
use super::check::{Faults, roots};
use super::place::Place;
use crate::error::BuildError;
use ridethrough_transport::probe::Probe;

/// The way in which a client reaches the network: its dial, proxies, roots of trust and time to connect.
///
/// Created by [`ClientBuilder::network`]. It has nothing that the client shows to its server: headers,
/// credentials and the client certificate are for that server alone.
///
/// ```
/// use ridethrough::Client;
///
/// let network = Client::builder("https://example.com/mcp").header("x-key", "s3cret").network();
/// let probe = network.probe("https://login.example.com/token")?;
/// # Ok::<(), ridethrough::error::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Network {
    dial: Option<Arc<dyn Dial>>,
    proxying: Proxying,
    roots: Vec<Vec<u8>>,
    is_http1_only: bool,
    /// The origin whose certificate is not checked.
    unchecked: Option<String>,
    connect_within: Duration,
    addresses: Option<AddressFilter>,
}

impl Network {
    /// Restricts connections to the addresses that `may_connect` accepts.
    ///
    /// Names are resolved first, so that no name leads to an address that is refused. The restriction does
    /// not apply to connections through a proxy, which resolves names itself, nor to a dial of the
    /// application's own.
    #[must_use]
    pub fn only_to(mut self, may_connect: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        self.addresses = Some(Arc::new(may_connect));
        self
    }

    /// Creates a [`Probe`] to this URL.
    pub fn probe(&self, url: &str) -> Result<Probe, BuildError> {
        let mut faults = Faults::default();
        let fault = |error| format!("`url` is `{}`, {error}", shown(url));
        let endpoint = faults.found(Endpoint::parse(url).map_err(fault));
        let extra_roots = roots(&self.roots, &mut faults);
        let dial = endpoint.as_ref().and_then(|endpoint| {
            let route = Route {
                dial: self.dial.clone(),
                addresses: self.addresses.clone(),
                proxying: &self.proxying,
                extra_roots,
                client_certificate: None,
                is_http1_only: self.is_http1_only,
                is_unchecked: self.unchecked.as_ref() == Some(&endpoint.origin()),
            };
            faults.found(route.to(endpoint))
        });
        let built = endpoint.zip(dial).map(|(endpoint, dial)| {
            Probe::new(endpoint, dial, HeaderMap::new(), None, self.connect_within)
        });
        faults.verdict(built)
    }
}

impl fmt::Debug for Network {
    /// Hides the proxy's URL, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl ClientBuilder {
    /// Returns the URL of the server as it was given; `None` for a local server.
    pub fn url(&self) -> Option<&str> {
        match &self.place {
            Place::Command(_) => None,
            Place::Url(url) => Some(url),
        }
    }

    /// Returns how the client of these settings reaches the network, for connections to other servers.
    ///
    /// [`danger_accept_any_certificate`](Self::danger_accept_any_certificate) still applies to the client's
    /// own server only.
    pub fn network(&self) -> Network {
        let own = self.url().and_then(|url| Endpoint::parse(url).ok()).map(|it| it.origin());
        Network {
            dial: self.dial.clone(),
            proxying: self.proxying.clone(),
            roots: self.roots.clone(),
            is_http1_only: self.is_http1_only,
            unchecked: own.filter(|_| self.is_unchecked),
            connect_within: self.limits.connect,
            addresses: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ridethrough_core::Cause;

    use crate::Client;
    use ridethrough_transport::probe::Question;

    #[tokio::test]
    async fn an_address_that_is_refused_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let network = Client::builder("https://example.com/mcp").no_proxy().network();

        let refused = network.clone().only_to(|ip| !ip.is_loopback()).probe(&url).unwrap();
        let allowed = network.only_to(|ip| ip.is_loopback()).probe(&url).unwrap();

        let failure = refused.connect().await.unwrap_err();
        assert_eq!(failure.cause, Cause::ConnectRefused);
        assert!(failure.to_string().contains("address"), "{failure}");
        assert!(allowed.connect().await.is_ok());
    }

    #[tokio::test]
    async fn what_is_for_the_own_server_is_not_shown_to_others() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let network = Client::builder("https://example.com/mcp")
            .header("x-key", "s3cret")
            .credentials(ridethrough_transport::credentials::StaticToken::new("s3cret").unwrap())
            .network();
        let asking = tokio::spawn(async move {
            let mut line = network.probe(&url).unwrap().connect().await.unwrap();
            line.ask(Question::get()).await.map(drop)
        });

        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = vec![0; 4096];
        let read = stream.read(&mut head).await.unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();

        assert!(!String::from_utf8_lossy(&head[..read]).contains("s3cret"));
        asking.await.unwrap().unwrap();
    }
}
