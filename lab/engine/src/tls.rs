//! The lab's own certificate authority, and the good and bad certificates that it signs.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ClientCertVerifierBuilder;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Signs certificates that a client accepts if, and only if, it trusts this authority's root.
///
/// A second authority makes certificates of an unknown issuer. Keys are made when they are first needed: the
/// first one of a process takes tens of milliseconds, and most servers of the lab speak plain HTTP.
#[derive(Clone, Default)]
pub struct Authority {
    issuers: Arc<Issuers>,
}

type CertificateSigner = CertifiedIssuer<'static, KeyPair>;

#[derive(Default)]
struct Issuers {
    /// The root, and its name.
    root: OnceLock<(CertificateSigner, String)>,
    /// A self-signed certificate.
    alone: OnceLock<CertificateSigner>,
}

/// The settings of a server in TLS.
pub(crate) type TlsSettings = ServerConfig;

/// Carries out the TLS handshake of the server.
pub(crate) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
    raw: S,
    settings: Arc<TlsSettings>,
) -> io::Result<TlsStream<S>> {
    TlsAcceptor::from(settings).accept(raw).await
}

impl Authority {
    /// The settings of a server with a good certificate of this authority.
    pub(crate) fn settings(&self, alpn: &[u8]) -> Arc<TlsSettings> {
        Certificate::Good.config(self, alpn)
    }

    /// Creates an authority with a fresh key.
    pub fn new() -> Self {
        Self::default()
    }

    fn root(&self) -> &CertificateSigner {
        &self.named_root().0
    }

    fn named_root(&self) -> &(CertificateSigner, String) {
        self.issuers.root.get_or_init(|| {
            let key = fresh_key();
            // Clients look up authorities by name: two with one name would be taken for one that signs badly.
            let name = format!("ridethrough lab {:x?}", &key.public_key_raw()[1..9]);
            let root = CertifiedIssuer::self_signed(root_params(&name), key).expect(SOUND);
            (root, name)
        })
    }

    fn alone(&self) -> &CertificateSigner {
        self.issuers.alone.get_or_init(|| {
            let mut params = params_for(&NAMES);
            params.distinguished_name.push(DnType::CommonName, "localhost");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            CertifiedIssuer::self_signed(params, fresh_key()).expect(SOUND)
        })
    }

    /// Returns the root certificate, for a client's trust store, in PEM.
    pub fn root_pem(&self) -> String {
        self.root().pem()
    }

    /// Returns the root certificate, for a client's trust store.
    pub fn root_der(&self) -> CertificateDer<'static> {
        self.root().der().clone()
    }

    /// Returns the certificate of [`Certificate::SelfSigned`], for a client's trust store, in PEM.
    pub fn self_signed_pem(&self) -> String {
        self.alone().pem()
    }

    /// Returns a certificate of this kind, as a server shows it. It is new each time, except for the
    /// self-signed one.
    pub fn certificate_der(&self, kind: Certificate) -> CertificateDer<'static> {
        kind.pair(self).0
    }

    /// Returns a server's TLS settings with a valid certificate for these DNS names and addresses.
    ///
    /// For a certificate with the wrong name, give another name than the client will ask for.
    pub fn server_config(&self, names: &[&str], alpn: &[&[u8]]) -> Arc<ServerConfig> {
        config(self.sign(params_for(names)), no_clients(), alpn)
    }

    /// TLS settings like [`server_config`](Self::server_config), which refuse clients without a certificate
    /// that this authority has signed.
    pub fn demanding_server_config(&self, names: &[&str], alpn: &[&[u8]]) -> Arc<ServerConfig> {
        let verifier = self.client_verifier().build().expect(SOUND);
        config(self.sign(params_for(names)), verifier, alpn)
    }

    /// TLS settings like [`demanding_server_config`](Self::demanding_server_config), which accept clients
    /// without a certificate, too.
    pub fn curious_server_config(&self, names: &[&str], alpn: &[&[u8]]) -> Arc<ServerConfig> {
        let verifier = self.client_verifier().allow_unauthenticated().build().expect(SOUND);
        config(self.sign(params_for(names)), verifier, alpn)
    }

    /// Returns a certificate for a client, and its private key; both in PEM.
    pub fn client_pem(&self) -> (String, String) {
        let mut params = params_for(&["client.test"]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = fresh_key();
        let certificate = params.signed_by(&key, self.root()).expect(SOUND);
        (certificate.pem(), key.serialize_pem())
    }

    fn client_verifier(&self) -> ClientCertVerifierBuilder {
        let mut roots = RootCertStore::empty();
        roots.add(self.root_der()).expect(SOUND);
        let provider = aws_lc_rs::default_provider().into();
        WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
    }

    fn sign(&self, params: CertificateParams) -> Pair {
        signed(params, self.root())
    }

    /// Another authority with the name of this one.
    fn impostor(&self) -> CertificateSigner {
        let (_, name) = self.named_root();
        CertifiedIssuer::self_signed(root_params(name), fresh_key()).expect(SOUND)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// The certificate that a [`Server`](crate::Server) shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Certificate {
    /// A certificate for clients only.
    ClientsOnly,
    /// A valid certificate; and the client must show one of this authority.
    Demanding,
    /// A certificate that expired long ago.
    Expired,
    /// A certificate that names the authority as its issuer, and was signed by another key.
    Forged,
    /// A valid certificate.
    #[default]
    Good,
    /// The certificate of an authority itself.
    Issuer,
    /// A certificate without a host name.
    Nameless,
    /// A certificate that is not valid yet.
    NotYetValid,
    /// A self-signed certificate that may sign others: what `openssl req -x509` makes.
    SelfSigned,
    /// A certificate of an unknown authority.
    Stranger,
    /// A certificate for another host, `elsewhere.test`.
    WrongName,
}

impl Certificate {
    pub(crate) fn config(self, authority: &Authority, alpn: &[u8]) -> Arc<ServerConfig> {
        match self {
            Self::Demanding => authority.demanding_server_config(&NAMES, &[alpn]),
            _ => config(self.pair(authority), no_clients(), &[alpn]),
        }
    }

    /// Returns the certificate, and its key.
    fn pair(self, authority: &Authority) -> Pair {
        let mut params = params_for(&NAMES);
        match self {
            Self::ClientsOnly => {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }
            Self::Expired => {
                params.not_before = date_time_ymd(2000, 1, 1);
                params.not_after = date_time_ymd(2001, 1, 1);
            }
            Self::Forged => return signed(params, &authority.impostor()),
            Self::Issuer => params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained),
            Self::Nameless => params = params_for(&[]),
            Self::NotYetValid => {
                params.not_before = date_time_ymd(2999, 1, 1);
                params.not_after = date_time_ymd(3000, 1, 1);
            }
            Self::SelfSigned => {
                let alone = authority.alone();
                return (alone.der().clone(), key_of(alone.key()));
            }
            Self::Stranger => return Authority::new().sign(params),
            Self::WrongName => params = params_for(&["elsewhere.test"]),
            Self::Demanding | Self::Good => {}
        }
        authority.sign(params)
    }
}

/// A certificate, and its key.
type Pair = (CertificateDer<'static>, PrivateKeyDer<'static>);

fn signed(params: CertificateParams, by: &CertificateSigner) -> Pair {
    let key = fresh_key();
    let certificate = params.signed_by(&key, by).expect(SOUND);
    (certificate.der().clone(), key_of(&key))
}

fn config(
    (certificate, key): Pair,
    clients: Arc<dyn ClientCertVerifier>,
    alpn: &[&[u8]],
) -> Arc<ServerConfig> {
    // The provider is named, so that another crate's choice of a default cannot change it.
    let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("aws-lc-rs supports the default protocol versions")
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![certificate], key)
        .expect("the key belongs to the certificate that it was made for");
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

fn no_clients() -> Arc<dyn ClientCertVerifier> {
    WebPkiClientVerifier::no_client_auth()
}

fn key_of(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(key.serialize_der()).into()
}

fn root_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn params_for(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    CertificateParams::new(names).expect("the names of a certificate are ASCII")
}

fn fresh_key() -> KeyPair {
    KeyPair::generate().expect("aws-lc-rs makes P-256 keys")
}

/// The names that every lab server answers to.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "server.test"];

const SOUND: &str = "the parameters of the lab's certificates are sound";
