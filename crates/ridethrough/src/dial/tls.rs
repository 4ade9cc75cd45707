//! TLS on top of any connection.
//!
//! The system's roots count, and those of `SSL_CERT_FILE` and of the builder besides. The crypto
//! provider is named explicitly, so another crate's choice of a process default changes nothing.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough_core::{Cause, Failure};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion};
use rustls_platform_verifier::Verifier;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::refusal::Judged;
use super::{Connection, Dial, Metered, Speaks, Steps};
use crate::endpoint::Endpoint;

/// What is asked of TLS.
#[derive(Debug, Default)]
pub(crate) struct TlsSettings {
    /// Roots beside the system's.
    pub(crate) extra_roots: Vec<CertificateDer<'static>>,
    /// What a server that asks for it knows us by.
    pub(crate) client_certificate: Option<ClientCertificate>,
    /// Offer HTTP/1.1 only.
    pub(crate) is_http1_only: bool,
}

/// A certificate of our own, with those that lead to its root, and the key that belongs to it.
#[derive(Debug)]
pub(crate) struct ClientCertificate {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// Prints nothing of itself.
    pub(crate) key: PrivateKeyDer<'static>,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("`SSL_CERT_FILE` is `{}`, must be a readable file of PEM certificates: {reason}", .path.display())]
    CertFile { path: PathBuf, reason: String },
    #[error("`client_certificate` does not fit its key: {0}")]
    ClientCertificate(rustls::Error),
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
    #[error("`url` has the host `{0}`, must be a name or address that a certificate can be for")]
    ServerName(String),
}

/// Dials by another dial and speaks TLS over what that gives.
pub(crate) struct Tls {
    below: Arc<dyn Dial>,
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    pub(crate) fn new(
        below: Arc<dyn Dial>,
        to: &Endpoint,
        settings: TlsSettings,
    ) -> Result<Self, TlsError> {
        let host = to.host_to_resolve();
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TlsError::ServerName(host.to_owned()))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = client_config(provider, settings)?;
        Ok(Self { below, connector: TlsConnector::from(Arc::new(config)), name })
    }
}

impl Dial for Tls {
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async move {
            let below = self.below.dial(to).await?;
            let (io, meter) = Metered::new(below.io);
            let began = Instant::now();
            let stream = self
                .connector
                .connect(self.name.clone(), io)
                .await
                .map_err(|error| no_handshake(&error))?;
            let speaks = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Speaks::Http2,
                _ => Speaks::Http1,
            };
            let version = stream.get_ref().1.protocol_version();
            let (io, refusal) = Judged::new(stream, version);
            let (io, below_tls) = (Box::new(io), Some(meter));
            let (secured, tls) = (Some(began.elapsed()), version.and_then(version_name));
            let steps = Steps { secured, tls, ..below.steps };
            Ok(Connection { io, peek: below.peek, speaks, below: below_tls, refusal, steps })
        })
    }
}

fn client_config(
    provider: Arc<CryptoProvider>,
    settings: TlsSettings,
) -> Result<ClientConfig, TlsError> {
    let mut roots = settings.extra_roots;
    if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
        roots.extend(roots_beside_the_systems(path.into())?);
    }
    let verifier = Verifier::new_with_extra_roots(roots, provider.clone())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match settings.client_certificate {
        Some(ClientCertificate { chain, key }) => {
            config.with_client_auth_cert(chain, key).map_err(TlsError::ClientCertificate)?
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = match settings.is_http1_only {
        true => vec![b"http/1.1".to_vec()],
        false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(config)
}

/// The certificates of the file that `SSL_CERT_FILE` names, and the system's.
///
/// On Unix the platform's verifier takes that file *instead of* the system's roots; people who set
/// it mean "besides". So the system's are added back.
fn roots_beside_the_systems(path: PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |reason: String| TlsError::CertFile { path: path.clone(), reason };
    let mut roots = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(error.to_string()))?;
    if roots.is_empty() {
        return Err(unreadable("there is none in it".to_owned()));
    }
    for directory in openssl_probe::candidate_cert_dirs() {
        // A file there that is no certificate is the system's own affair.
        roots.extend(rustls_native_certs::load_certs_from_paths(None, Some(directory)).certs);
    }
    Ok(roots)
}

const fn version_name(version: ProtocolVersion) -> Option<&'static str> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("TLS 1.2"),
        ProtocolVersion::TLSv1_3 => Some("TLS 1.3"),
        _ => None,
    }
}

/// Tells a server that must be configured otherwise from a connection that broke.
fn no_handshake(error: &io::Error) -> Failure {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let cause = match (tls, error.kind()) {
        (Some(rustls::Error::InvalidCertificate(_)), _) => Cause::BadCertificate,
        (Some(_), _) => Cause::TlsRefused,
        (None, io::ErrorKind::TimedOut) => Cause::ConnectTimedOut,
        (None, io::ErrorKind::UnexpectedEof) => Cause::Closed,
        (None, _) => Cause::Reset,
    };
    Failure::not_sent(cause).with_detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use ridethrough_lab::Authority;

    use super::*;

    #[test]
    fn the_roots_of_a_file_stand_beside_those_of_the_system() {
        let authority = Authority::new();
        let path = std::env::temp_dir().join(format!("ridethrough-roots-{}", std::process::id()));
        std::fs::write(&path, authority.root_pem()).unwrap();

        let roots = roots_beside_the_systems(path.clone());
        std::fs::remove_file(path).unwrap();

        let roots = roots.unwrap();
        assert!(roots.contains(&authority.root_der()));
        let system = openssl_probe::candidate_cert_dirs().next();
        let found =
            system.map(|it| rustls_native_certs::load_certs_from_paths(None, Some(it)).certs);
        assert!(found.unwrap_or_default().iter().all(|root| roots.contains(root)));
    }
}
