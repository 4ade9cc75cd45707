//! The layers of a connection, according to the settings: sockets, a proxy, TLS.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

use super::Dial;
use super::tcp::{AddressFilter, FilteredTcp, Tcp};
use super::{ClientCertificate, Tls, TlsSettings};
use crate::endpoint::Endpoint;

/// Whether a connection goes through a proxy.
#[derive(Clone, Default)]
pub enum Proxying {
    /// The proxy that the environment names, if it names one.
    #[default]
    Environment,
    /// No proxy, whatever the environment names.
    None,
    /// This proxy.
    Through(String),
}

/// The layers of the way to a server.
pub struct Route<'a> {
    /// The application's own dial; `None` for the system's sockets.
    pub dial: Option<Arc<dyn Dial>>,
    /// The addresses that may be connected to where there is no proxy; `None` allows all.
    pub addresses: Option<AddressFilter>,
    /// Whether it goes through a proxy.
    pub proxying: &'a Proxying,
    /// Roots of trust in addition to the system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// The certificate for a server that asks for one.
    pub client_certificate: Option<ClientCertificate>,
    /// Whether only HTTP/1.1 is offered.
    pub is_http1_only: bool,
    /// Whether every certificate is accepted.
    pub is_unchecked: bool,
}

impl Route<'_> {
    /// Returns the dial to this endpoint, with TLS on top if its scheme asks for it.
    pub fn to(self, endpoint: &Endpoint) -> Result<Arc<dyn Dial>, String> {
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
