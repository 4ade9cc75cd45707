//! The layers of a connection, as the settings want them: sockets, a proxy, TLS.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

use crate::dial::{AddressFilter, ClientCertificate, Dial, FilteredTcp, Tcp, Tls, TlsSettings};
use crate::endpoint::Endpoint;

/// Whether there is a proxy on the way.
#[cfg_attr(
    not(feature = "proxy"),
    expect(dead_code, reason = "there are no proxies in this build")
)]
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
    /// Which addresses may be connected to where there is no proxy; all, if it is none.
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
    /// The dial to this endpoint, with TLS on top where its scheme asks for it.
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

    /// Sockets that lead to the server itself, not to a proxy.
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
