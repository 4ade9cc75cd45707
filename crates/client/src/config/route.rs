//! The layers of a connection, according to the settings: sockets, a proxy, TLS.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

use crate::dial::{AddressFilter, ClientCertificate, Dial, FilteredTcp, Tcp, Tls, TlsSettings};
use crate::endpoint::Endpoint;

/// Whether a connection goes through a proxy.
#[cfg_attr(
    not(feature = "proxy"),
    expect(dead_code, reason = "there are no proxies in this build")
)]
#[derive(Clone, Default)]
pub(super) enum Proxying {
    /// The proxy that the environment names, if it names one.
    #[default]
    Environment,
    /// No proxy, whatever the environment names.
    None,
    /// This proxy.
    Through(String),
}

/// The layers of the way to a server.
pub(super) struct Route<'a> {
    /// The application's own dial; `None` for the system's sockets.
    pub(super) dial: Option<Arc<dyn Dial>>,
    /// The addresses that may be connected to where there is no proxy; `None` allows all.
    pub(super) addresses: Option<AddressFilter>,
    #[cfg_attr(
        not(feature = "proxy"),
        expect(dead_code, reason = "there are no proxies in this build")
    )]
    pub(super) proxying: &'a Proxying,
    pub(super) extra_roots: Vec<CertificateDer<'static>>,
    pub(super) client_certificate: Option<ClientCertificate>,
    pub(super) is_http1_only: bool,
    pub(super) is_unchecked: bool,
}

impl Route<'_> {
    /// Returns the dial to this endpoint, with TLS on top if its scheme asks for it.
    pub(super) fn to(self, endpoint: &Endpoint) -> Result<Arc<dyn Dial>, String> {
        let below = self.below_tls(endpoint)?;
        if !endpoint.is_tls() {
            return Ok(below);
        }
        let settings = TlsSettings {
            extra_roots: self.extra_roots,
            client_certificate: self.client_certificate,
            is_http1_only: self.is_http1_only || cfg!(not(feature = "http2")),
            is_unchecked: self.is_unchecked,
        };
        let tls = Tls::new(below, endpoint, settings).map_err(|error| error.to_string())?;
        Ok(Arc::new(tls))
    }

    pub(super) fn sockets(&self) -> Arc<dyn Dial> {
        self.dial.clone().unwrap_or_else(|| Arc::new(Tcp))
    }

    /// Returns the dial to the server itself, not to a proxy.
    pub(super) fn direct(&self) -> Arc<dyn Dial> {
        match (&self.dial, &self.addresses) {
            (None, Some(filter)) => Arc::new(FilteredTcp::new(filter.clone())),
            _ => self.sockets(),
        }
    }

    #[cfg(not(feature = "proxy"))]
    fn below_tls(&self, _: &Endpoint) -> Result<Arc<dyn Dial>, String> {
        Ok(self.direct())
    }
}
