//! TLS on top of any connection.
//!
//! It trusts the system's roots, and those of `SSL_CERT_FILE` and of the builder in addition. The crypto
//! provider is named explicitly, so another crate's choice of a process default changes nothing.

mod facts;
mod trust;
mod words;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough_core::{Cause, Failure};
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ClientConfig, OtherError, ProtocolVersion, RootCertStore};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::refusal::Judged;
use super::{Connection, Dial, Metered, Speaks, Steps};
use crate::endpoint::Endpoint;

use trust::{Anybody, Trust};
use words::{Shown, TlsFault, of_certificate, of_handshake, plain_http};

/// The settings of TLS.
#[derive(Debug, Default)]
pub(crate) struct TlsSettings {
    /// Roots in addition to the system's.
    pub(crate) extra_roots: Vec<CertificateDer<'static>>,
    /// The certificate for a server that asks for one.
    pub(crate) client_certificate: Option<ClientCertificate>,
    /// Whether only HTTP/1.1 is offered.
    pub(crate) is_http1_only: bool,
    /// Whether every certificate is accepted.
    pub(crate) is_unchecked: bool,
}

/// The client's certificate, with those that lead to its root, and its key.
#[derive(Debug)]
pub struct ClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    /// The key, which prints nothing of itself.
    key: PrivateKeyDer<'static>,
}

impl ClientCertificate {
    /// Reads both from PEM. Fails with what is missing.
    pub fn read(chain: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.ok().filter(|found| !found.is_empty());
        let chain = chain
            .ok_or("the chain of `client_certificate` must be PEM with a certificate in it")?;
        // The parser's error might quote the key.
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| "the key of `client_certificate` must be PEM with a private key in it")?;
        Ok(Self { chain, key })
    }
}

/// Reads roots of trust from PEM. Fails if there is none, or one that is no certificate.
pub fn roots_in(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let is_certificate =
        |it: &CertificateDer<'static>| RootCertStore::empty().add(it.clone()).is_ok();
    found
        .ok()
        .filter(|found| !found.is_empty() && found.iter().all(is_certificate))
        .ok_or_else(|| "`root_certificates` must be PEM with a certificate in it".to_owned())
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("`SSL_CERT_FILE` is `{}`, must be a readable file of PEM certificates: {reason}", .path.display())]
    CertFile { path: PathBuf, reason: String },
    #[error("`client_certificate` does not fit its key: {0}")]
    ClientCertificate(rustls::Error),
    #[error(
        "`url` wants TLS, which this program was built without: it needs the feature `aws-lc-rs` or `ring`"
    )]
    NoProvider,
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
    #[error("`url` has the host `{0}`, must be a name or address that a certificate can be for")]
    ServerName(String),
}

/// A dial that puts TLS on top of another dial.
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
        let provider = provider().ok_or(TlsError::NoProvider)?;
        let config = client_config(Arc::new(provider), settings)?;
        Ok(Self { below, connector: TlsConnector::from(Arc::new(config)), name })
    }
}

/// Returns the crypto provider that the features name, if they name one.
fn provider() -> Option<CryptoProvider> {
    #[cfg(feature = "aws-lc-rs")]
    return Some(rustls::crypto::aws_lc_rs::default_provider());
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    return Some(rustls::crypto::ring::default_provider());
    #[cfg(not(any(feature = "aws-lc-rs", feature = "ring")))]
    return None;
}

impl Dial for Tls {
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async move {
            let below = self.below.dial(to).await?;
            let (io, meter) = Metered::new(below.io);
            let began = Instant::now();
            let connecting = self.connector.connect(self.name.clone(), io);
            let stream = connecting.await.map_err(|error| {
                if meter.is_answered_by_http() {
                    told(Cause::TlsRefused, plain_http())
                } else {
                    no_handshake(&error)
                }
            })?;
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
    let verifier: Arc<dyn ServerCertVerifier> = if settings.is_unchecked {
        Arc::new(Anybody(provider.clone()))
    } else {
        Arc::new(trust(settings.extra_roots, provider.clone())?)
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match settings.client_certificate {
        Some(ClientCertificate { chain, key }) => {
            config.with_client_auth_cert(chain, key).map_err(TlsError::ClientCertificate)?
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = if settings.is_http1_only {
        vec![b"http/1.1".to_vec()]
    } else {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    };
    Ok(config)
}

/// Trusts the system's roots, those of the builder, and those of the file that `SSL_CERT_FILE` names.
fn trust(
    mut named: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Trust, TlsError> {
    let mut beside = Vec::new();
    if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
        named.extend(roots_of(path.into())?);
        beside = roots_of_the_system();
    }
    let roots = named.iter().cloned().chain(beside).collect();
    Ok(Trust::new(named, roots, provider)?)
}

/// Returns the certificates of the file that `SSL_CERT_FILE` names.
fn roots_of(path: PathBuf) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |reason: String| TlsError::CertFile { path: path.clone(), reason };
    let roots = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(error.to_string()))?;
    if roots.is_empty() { Err(unreadable("there is none in it".to_owned())) } else { Ok(roots) }
}

/// Returns the system's roots. On Unix the platform's verifier uses the file of `SSL_CERT_FILE` *instead of*
/// them; people who set it mean "in addition". So the system's are added back.
fn roots_of_the_system() -> Vec<CertificateDer<'static>> {
    let read = |directory| rustls_native_certs::load_certs_from_paths(None, Some(directory)).certs;
    // A file there that is no certificate is not this client's concern.
    openssl_probe::candidate_cert_dirs().flat_map(read).collect()
}

const fn version_name(version: ProtocolVersion) -> Option<&'static str> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("TLS 1.2"),
        ProtocolVersion::TLSv1_3 => Some("TLS 1.3"),
        _ => None,
    }
}

/// Returns the failure of a handshake: a server that must be configured otherwise, or a connection that
/// broke.
fn no_handshake(error: &io::Error) -> Failure {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match (tls, error.kind()) {
        (Some(rustls::Error::InvalidCertificate(fault)), _) => {
            told(Cause::BadCertificate, certificate_words(fault))
        }
        (Some(other), _) => told(Cause::TlsRefused, of_handshake(other)),
        (None, io::ErrorKind::TimedOut) => Failure::not_sent(Cause::ConnectTimedOut),
        (None, io::ErrorKind::UnexpectedEof) => Failure::not_sent(Cause::Closed),
        (None, _) => Failure::not_sent(Cause::Reset).with_detail(error.to_string()),
    }
}

fn told(cause: Cause, words: TlsFault) -> Failure {
    Failure::not_sent(cause).with_detail(words.what).with_advice(words.advice)
}

/// Returns the words that the check of the certificate found. Without any, the signature of the handshake is
/// wrong.
fn certificate_words(fault: &CertificateError) -> TlsFault {
    if let CertificateError::Other(OtherError(inner)) = fault
        && let Some(words) = inner.downcast_ref::<TlsFault>()
    {
        return words.clone();
    }
    of_certificate(fault, &Shown { facts: None, host: None, has_chain: true })
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

        let roots = roots_of(path.clone());
        std::fs::remove_file(path).unwrap();

        assert_eq!(roots.unwrap(), [authority.root_der()]);
        let system = openssl_probe::candidate_cert_dirs().next();
        let found =
            system.map(|it| rustls_native_certs::load_certs_from_paths(None, Some(it)).certs);
        let beside = roots_of_the_system();
        assert!(found.unwrap_or_default().iter().all(|root| beside.contains(root)));
    }
}
