//! TLS: HTTP/2 by agreement, and certificates that change while the server runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough_server::Tls;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::rig::{Rig, TOKEN};

#[tokio::test(start_paused = true)]
async fn requests_are_answered_in_tls_and_http_2_is_agreed_on() {
    let (rig, folder) = (Rig::new(), Folder::new("agreed"));
    let root = folder.certify();
    let tls = folder.tls(|_| {});
    for (offered, agreed) in [(&[b"h2".to_vec()][..], Some(&b"h2"[..])), (&[], None)] {
        let mut stream = connect(&rig, &tls, &root, offered).await.unwrap();

        assert_eq!(stream.get_ref().1.alpn_protocol(), agreed);
        if agreed.is_none() {
            let ask = format!(
                "GET /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
            );
            stream.write_all(ask.as_bytes()).await.unwrap();
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 400");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_changes_is_used_and_one_that_does_not_fit_is_told_once() {
    let (rig, folder) = (Rig::new(), Folder::new("changes"));
    let first = folder.certify();
    let told = Arc::<Mutex<Vec<String>>>::default();
    let hear = told.clone();
    let tls = folder.tls(move |error| hear.lock().unwrap().push(error.to_string()));
    let is_served = async |root: &CertificateDer<'static>| {
        tokio::time::sleep(Duration::from_secs(2)).await;
        connect(&rig, &tls, root, &[]).await.is_ok()
    };
    assert!(is_served(&first).await);

    let key = std::fs::read(folder.key()).unwrap();
    let second = folder.certify();
    std::fs::write(folder.key(), &key[..key.len() / 2]).unwrap();
    assert!(is_served(&first).await, "a certificate without its key is not used");
    assert!(is_served(&first).await);
    assert_eq!(told.lock().unwrap().len(), 1, "{told:?}");
    let third = folder.certify();

    assert!(is_served(&third).await);
    assert!(!is_served(&first).await && !is_served(&second).await);
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_speaks_no_tls_is_closed_and_who_says_nothing_after_10_s() {
    let (rig, folder) = (Rig::new(), Folder::new("silent"));
    folder.certify();
    let tls = folder.tls(|_| {});
    for (said, seconds) in [("", 10), ("GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n", 0)] {
        let (mut ours, theirs) = duplex(64 * 1024);
        let (server, tls) = (rig.server.clone(), tls.clone());
        tokio::spawn(async move { server.serve_tls(theirs, &tls).await });
        let began = tokio::time::Instant::now();

        ours.write_all(said.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        ours.read_to_end(&mut rest).await.unwrap();

        assert_eq!(began.elapsed().as_secs(), seconds, "{said}");
        assert!(!rest.starts_with(b"HTTP"));
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new("unusable");
    folder.certify();
    std::fs::write(folder.certificate(), "nothing").unwrap();

    let error = Tls::from_files(folder.certificate(), folder.key(), |_| {}).unwrap_err();

    assert!(error.to_string().contains("certificate.pem` cannot be used"), "{error}");
}

async fn connect(
    rig: &Rig,
    tls: &Tls,
    root: &CertificateDer<'static>,
    offered: &[Vec<u8>],
) -> std::io::Result<TlsStream<tokio::io::DuplexStream>> {
    let (ours, theirs) = duplex(64 * 1024);
    let (server, tls) = (rig.server.clone(), tls.clone());
    tokio::spawn(async move { server.serve_tls(theirs, &tls).await });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = offered.to_vec();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, ours).await
}

/// A folder for the files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn certificate(&self) -> PathBuf {
        self.0.join("certificate.pem")
    }

    fn key(&self) -> PathBuf {
        self.0.join("key.pem")
    }

    /// Writes a new certificate and its key. Returns the certificate.
    fn certify(&self) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(self.certificate(), made.cert.pem()).unwrap();
        std::fs::write(self.key(), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }

    fn tls(&self, tell: impl Fn(ridethrough_server::TlsError) + Send + Sync + 'static) -> Tls {
        Tls::from_files(self.certificate(), self.key(), tell).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The folder is in the build's own directory, where it does no harm if it stays.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
