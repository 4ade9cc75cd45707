//! TLS by certificate files, which are read again when they change: a renewed certificate needs no restart.
//!
//! ```text
//!   handshake ──once a second at most──▶ files changed? ──and fit──▶ the new certificate is in force
//!                                                       └──do not──▶ the old one stays, and it is told once
//! ```

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

/// The server's side of TLS. Clones share the certificate.
#[derive(Clone)]
pub struct Tls {
    pub(crate) acceptor: TlsAcceptor,
}

/// The error of a certificate that cannot be used.
#[derive(Debug)]
pub struct TlsError {
    what: String,
}

impl Tls {
    /// Reads a certificate chain and its private key, both in PEM. If files that changed later cannot be
    /// used, `tell` gets the reason; it must not block.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or the key is not that of the certificate.
    pub fn from_files(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
        tell: impl Fn(TlsError) + Send + Sync + 'static,
    ) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let files = Files { certificate: certificate.into(), key: key.into() };
        let read = files.read(&provider)?;
        let state = CertificateState {
            current: Arc::new(read),
            seen: files.stamps(),
            looked: Instant::now(),
        };
        let resolver = CertificateFiles {
            files,
            provider: provider.clone(),
            tell: Box::new(tell),
            state: Mutex::new(state),
        };
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|error| TlsError { what: error.to_string() })?;
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

/// The certificate in force, and the files that it came from.
struct CertificateFiles {
    files: Files,
    provider: Arc<CryptoProvider>,
    tell: Box<dyn Fn(TlsError) + Send + Sync>,
    state: Mutex<CertificateState>,
}

struct CertificateState {
    current: Arc<CertifiedKey>,
    /// The state of the files when they were last read, whether or not they could be used.
    seen: [Option<Stamp>; 2],
    looked: Instant,
}

/// The time when a file was written, and its size.
type Stamp = (SystemTime, u64);

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl CertificateFiles {
    fn current(&self) -> Arc<CertifiedKey> {
        let mut state = self.lock();
        if state.looked.elapsed() >= LOOK {
            state.looked = Instant::now();
            let stamps = self.files.stamps();
            if stamps != state.seen {
                state.seen = stamps;
                match self.files.read(&self.provider) {
                    Ok(read) => state.current = Arc::new(read),
                    Err(error) => (self.tell)(error),
                }
            }
        }
        state.current.clone()
    }

    fn lock(&self) -> MutexGuard<'_, CertificateState> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for CertificateFiles {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

impl Files {
    fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let wrong = |path: &Path, why: &dyn fmt::Display| TlsError {
            what: format!("`{}` cannot be used: {why}", path.display()),
        };
        let chain: Vec<_> = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect)
            .map_err(|error| wrong(&self.certificate, &error))?;
        if chain.is_empty() {
            return Err(wrong(&self.certificate, &"there is no certificate in it"));
        }
        let key =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|error| wrong(&self.key, &error))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| wrong(&self.key, &error))
    }

    fn stamps(&self) -> [Option<Stamp>; 2] {
        [&self.certificate, &self.key].map(|path| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        })
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for TlsError {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(..)")
    }
}

impl fmt::Debug for CertificateFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateFiles").finish_non_exhaustive()
    }
}

/// The shortest time between two looks at the files.
const LOOK: Duration = Duration::from_secs(1);
