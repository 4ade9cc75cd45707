//! Proxies: which one leads to a server, if any, and how the server is reached through it.
//!
//! A tunnel (`CONNECT`) is used whatever the server's scheme is. In the other form, where the proxy repeats
//! the client's requests, its 502 could not be told from a server's and would leave a call in doubt; a tunnel
//! that cannot be opened is refused before anything was sent, so that the call waits and is sent later. It
//! also keeps proxies out of all code that speaks HTTP to the server.

mod address;
mod environment;
mod exempt;
mod tunnel;

use std::sync::Arc;

use super::Dial;
use super::route::{Proxying, Route};
use super::{Tls, TlsSettings};
use crate::endpoint::{Endpoint, shown};

use address::{ProxyAddress, ProxyError};
use environment::{Chosen, chosen_for};
use tunnel::Tunnel;

impl Route<'_> {
    /// Returns the layers below TLS: sockets, or a tunnel through a proxy.
    pub(in crate::dial) fn below_tls(&self, endpoint: &Endpoint) -> Result<Arc<dyn Dial>, String> {
        match self.proxy_to(endpoint)? {
            Some(proxy) => self.through(proxy),
            None => Ok(self.direct()),
        }
    }

    fn proxy_to(&self, endpoint: &Endpoint) -> Result<Option<ProxyAddress>, String> {
        let (variable, url) = match self.proxying {
            Proxying::None => return Ok(None),
            Proxying::Through(url) => ("proxy", url.clone()),
            // The environment describes the machine's network; the application's own dial need not use that.
            Proxying::Environment if self.dial.is_some() => return Ok(None),
            Proxying::Environment => match chosen_for(endpoint, |name| std::env::var(name).ok()) {
                Some(Chosen { variable, url }) => (variable, url),
                None => return Ok(None),
            },
        };
        let fault = |error: ProxyError| format!("`{variable}` is `{}`, {error}", shown(&url));
        ProxyAddress::parse(&url).map(Some).map_err(fault)
    }

    /// Returns a dial through the proxy. TLS to the proxy ends there: the client certificate for the server
    /// is not presented to it, and the proxy's own certificate is checked even if any certificate of the
    /// server is accepted.
    fn through(&self, proxy: ProxyAddress) -> Result<Arc<dyn Dial>, String> {
        let mut below = self.sockets();
        if proxy.endpoint().is_tls() {
            let extra_roots = self.extra_roots.clone();
            let settings =
                TlsSettings { extra_roots, is_http1_only: true, ..TlsSettings::default() };
            let tls = Tls::new(below, proxy.endpoint(), settings);
            below = Arc::new(tls.map_err(|error| error.to_string())?);
        }
        Ok(Arc::new(Tunnel::new(below, proxy)))
    }
}
