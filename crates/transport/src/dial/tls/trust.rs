//! The certificates of servers that are accepted.
//!
//! The platform decides, with one addition: a certificate that the user has named is trusted when the server
//! presents exactly that one, whatever its constraints say, if its dates and names are right. `openssl req
//! -x509` makes such certificates, and the rules for chains refuse them at the end of one.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::facts::CertificateFacts;
use super::words::{Shown, of_certificate};

/// Accepts certificates that the platform trusts, and those that the user has named.
#[derive(Debug)]
pub(super) struct Trust {
    platform: Verifier,
    /// The certificates that the user has named.
    named: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Trusts the `roots` in addition to the platform's, and the `named` ones also when the server presents
    /// them itself.
    pub(super) fn new(
        named: Vec<CertificateDer<'static>>,
        roots: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let platform = Verifier::new_with_extra_roots(roots, provider)?;
        Ok(Self { platform, named })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = if self.named.contains(end_entity) {
            fits(end_entity, server_name, now)
        } else {
            self.platform.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            )
        };
        verdict.map_err(|error| {
            let Error::InvalidCertificate(fault) = error else { return error };
            let facts = CertificateFacts::read(end_entity);
            let has_chain = !intermediates.is_empty();
            let shown = Shown { facts: facts.as_ref(), host: Some(server_name), has_chain };
            let words = of_certificate(&fault, &shown);
            // The server then gets the alert `certificate unknown`, whatever the fault is, as from browsers.
            CertificateError::Other(OtherError(Arc::new(words))).into()
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.platform.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.platform.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.platform.supported_verify_schemes()
    }
}

/// Whether a certificate that the user has named is for this host, at this time.
fn fits(
    certificate: &CertificateDer<'_>,
    host: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, Error> {
    let facts = CertificateFacts::read(certificate).ok_or(CertificateError::BadEncoding)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < facts.not_before.unix_seconds() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > facts.not_after.unix_seconds() {
        return Err(CertificateError::Expired.into());
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, host)?;
    Ok(ServerCertVerified::assertion())
}

/// Accepts every certificate. It still checks that the server holds the certificate's key.
#[derive(Debug)]
pub(super) struct Anybody(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ridethrough_lab::{Authority, Certificate};

    use super::super::words::TlsFault;
    use ridethrough_core::Audience;

    use super::*;

    #[test]
    fn every_fault_of_a_certificate_is_told_in_plain_words() {
        let authority = Authority::new();
        let trust = trusting(vec![authority.root_der()]);
        for (kind, what) in [
            (Certificate::ClientsOnly, "it is not meant for servers (extended key usage)"),
            (Certificate::Expired, "it expired on 2001-01-01 00:00 UTC"),
            (Certificate::Forged, "its signature is not that of the authority which it names"),
            (
                Certificate::Issuer,
                "it is the certificate of an authority (`CA:TRUE`), not of a server",
            ),
            (Certificate::Nameless, "it is not for `server.test`: it names no host at all"),
            (Certificate::NotYetValid, "it is not valid before 2999-01-01 00:00 UTC"),
            (Certificate::SelfSigned, "it is self-signed, and not one that is trusted here"),
            (Certificate::WrongName, "it is not for `server.test`: it is for `elsewhere.test`"),
        ] {
            let told = told(&trust, &authority.certificate_der(kind), "server.test");

            assert_eq!(told.what, what, "{kind:?}");
        }
        let stranger = authority.certificate_der(Certificate::Stranger);
        let told = told(&trust, &stranger, "server.test");
        assert!(told.what.starts_with("it was issued by `ridethrough lab "), "{told}");
        assert!(told.what.ends_with("`, which is not trusted here"), "{told}");
        assert!(told.advice.words(Audience::Program).contains("`--cacert FILE`"), "{told}");
    }

    #[test]
    fn a_certificate_that_the_user_named_is_trusted_when_it_is_shown_itself() {
        let authority = Authority::new();
        let alone = authority.certificate_der(Certificate::SelfSigned);

        for host in ["localhost", "127.0.0.1", "server.test"] {
            assert_eq!(verdict(&trusting(vec![alone.clone()]), &alone, host, now()), Ok(()));
        }
    }

    #[test]
    fn a_certificate_that_the_user_named_is_for_its_hosts_and_its_time_only() {
        let authority = Authority::new();
        let alone = authority.certificate_der(Certificate::SelfSigned);
        let trust = trusting(vec![alone.clone()]);

        let elsewhere = told(&trust, &alone, "elsewhere.test");
        let later = UnixTime::since_unix_epoch(Duration::from_secs(1 << 40));
        let later = verdict(&trust, &alone, "server.test", later).unwrap_err();
        let earlier = UnixTime::since_unix_epoch(Duration::ZERO);
        let earlier = verdict(&trust, &alone, "server.test", earlier).unwrap_err();

        assert!(elsewhere.what.starts_with("it is not for `elsewhere.test`"), "{elsewhere}");
        assert!(later.what.starts_with("it expired on "), "{later}");
        assert!(earlier.what.starts_with("it is not valid before "), "{earlier}");
    }

    #[test]
    fn a_certificate_of_the_same_words_and_another_key_is_not_the_one_that_was_named() {
        let named = Authority::new().certificate_der(Certificate::SelfSigned);
        let other = Authority::new().certificate_der(Certificate::SelfSigned);

        assert!(verdict(&trusting(vec![named]), &other, "server.test", now()).is_err());
    }

    fn trusting(named: Vec<CertificateDer<'static>>) -> Trust {
        Trust::new(named.clone(), named, super::super::provider().unwrap().into()).unwrap()
    }

    fn told(trust: &Trust, certificate: &CertificateDer<'_>, host: &str) -> TlsFault {
        verdict(trust, certificate, host, now()).unwrap_err()
    }

    fn verdict(
        trust: &Trust,
        certificate: &CertificateDer<'_>,
        host: &str,
        now: UnixTime,
    ) -> Result<(), TlsFault> {
        let host = ServerName::try_from(host).unwrap();
        let verdict = trust.verify_server_cert(certificate, &[], &host, &[], now);
        verdict.map(|_| ()).map_err(|error| match error {
            Error::InvalidCertificate(CertificateError::Other(OtherError(words))) => {
                words.downcast_ref::<TlsFault>().unwrap().clone()
            }
            error => panic!("{error}"),
        })
    }

    fn now() -> UnixTime {
        UnixTime::now()
    }
}
