//! The layers of a connection through a proxy, if there is one.

use std::sync::Arc;

use super::check::shown;
use super::route::{Proxying, Route};
use crate::dial::{Chosen, Dial, ProxyAddress, ProxyError, Tls, TlsSettings, Tunnel, chosen_for};
use crate::endpoint::Endpoint;

impl Route<'_> {
    /// Returns the layers below TLS: sockets, or a tunnel through a proxy.
    pub(super) fn below_tls(&self, endpoint: &Endpoint) -> Result<Arc<dyn Dial>, String> {
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
