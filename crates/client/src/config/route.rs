//! The layers of a connection, as the settings want them: sockets, a proxy, TLS.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

use super::check::shown;
use crate::dial::{
    Chosen, ClientCertificate, Dial, ProxyAddress, ProxyError, Tcp, Tls, TlsSettings, Tunnel,
    chosen_for,
};
use crate::endpoint::Endpoint;

/// Whether there is a proxy on the way.
#[derive(Clone, Default)]
pub(super) enum Proxying {
    /// The one that the environment names.
    #[default]
    Environment,
    /// None, whatever the environment names.
    None,
    /// This one.
    Through(String),
}

/// What the way to a server is made of.
pub(super) struct Route<'a> {
    /// Sockets of the system's, if it is none.
    pub(super) dial: Option<Arc<dyn Dial>>,
    pub(super) proxying: &'a Proxying,
    pub(super) extra_roots: Vec<CertificateDer<'static>>,
    pub(super) client_certificate: Option<ClientCertificate>,
    pub(super) is_http1_only: bool,
    pub(super) is_unchecked: bool,
}

impl Route<'_> {
    /// The dial to this endpoint, with TLS on top where its scheme asks for it.
    pub(super) fn to(self, endpoint: &Endpoint) -> Result<Arc<dyn Dial>, String> {
        let below = match self.proxy_to(endpoint)? {
            Some(proxy) => self.through(proxy)?,
            None => self.sockets(),
        };
        if !endpoint.is_tls() {
            return Ok(below);
        }
        let settings = TlsSettings {
            extra_roots: self.extra_roots,
            client_certificate: self.client_certificate,
            is_http1_only: self.is_http1_only,
            is_unchecked: self.is_unchecked,
        };
        let tls = Tls::new(below, endpoint, settings).map_err(|error| error.to_string())?;
        Ok(Arc::new(tls))
    }

    fn sockets(&self) -> Arc<dyn Dial> {
        self.dial.clone().unwrap_or_else(|| Arc::new(Tcp))
    }

    fn proxy_to(&self, endpoint: &Endpoint) -> Result<Option<ProxyAddress>, String> {
        let (variable, url) = match self.proxying {
            Proxying::None => return Ok(None),
            Proxying::Through(url) => ("proxy", url.clone()),
            // The environment speaks of the machine's network; a dial of the application's own
            // need not lead there.
            Proxying::Environment if self.dial.is_some() => return Ok(None),
            Proxying::Environment => match chosen_for(endpoint, |name| std::env::var(name).ok()) {
                Some(Chosen { variable, url }) => (variable, url),
                None => return Ok(None),
            },
        };
        let fault = |error: ProxyError| format!("`{variable}` is `{}`, {error}", shown(&url));
        ProxyAddress::parse(&url).map(Some).map_err(fault)
    }

    /// TLS to a proxy is between it and us: the server's client certificate is not shown to it, and its own is
    /// checked whatever is accepted of the server.
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
