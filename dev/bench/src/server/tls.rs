//! A certificate authority for one run, and the TLS settings of a server.

use std::sync::Arc;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::TlsAcceptor;

/// Signs certificates for this machine's own address.
pub(crate) struct Authority {
    root: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "ridethrough bench");
        Ok(Self { root: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Returns the certificate that a client must trust.
    pub(crate) fn pem(&self) -> String {
        self.root.pem()
    }

    pub(super) fn acceptor(&self) -> Result<TlsAcceptor> {
        let key = KeyPair::generate()?;
        let params = CertificateParams::new(["127.0.0.1".to_owned()])?;
        let certificate = params.signed_by(&key, &self.root)?;
        let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
