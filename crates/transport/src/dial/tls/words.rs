//! Why TLS failed, in plain words, and what a person can do about it.
//!
//! The TLS library names most faults by its own types, which are never shown.

use std::error::Error;
use std::fmt;

use ridethrough_core::Advice;
use rustls::CertificateError;
use rustls::pki_types::ServerName;

use super::facts::CertificateFacts;
use crate::dial::alert;

/// What is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsFault {
    pub(super) what: String,
    pub(super) advice: Advice,
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for TlsFault {}

fn words(what: impl Into<String>, advice: Advice) -> TlsFault {
    TlsFault { what: what.into(), advice }
}

/// A certificate that was not accepted, and how it was presented.
pub(super) struct Shown<'a> {
    /// Its contents, if they can be read.
    pub(super) facts: Option<&'a CertificateFacts>,
    /// The host that it was presented for, if that is known.
    pub(super) host: Option<&'a ServerName<'a>>,
    /// Whether the server sent the certificates that lead to its root.
    pub(super) has_chain: bool,
}

/// Returns what is wrong with a server's certificate.
pub(super) fn of_certificate(error: &CertificateError, shown: &Shown<'_>) -> TlsFault {
    use CertificateError as Fault;
    let facts = shown.facts;
    match error {
        Fault::BadEncoding => words("it cannot be read", Advice::AnotherCertificate),
        Fault::Expired | Fault::ExpiredContext { .. } => match facts {
            Some(facts) => {
                words(format!("it expired on {}", facts.not_after), Advice::RenewCertificate)
            }
            None => words("it expired", Advice::RenewCertificate),
        },
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => match facts {
            Some(facts) => words(
                format!("it is not valid before {}", facts.not_before),
                Advice::RenewCertificate,
            ),
            None => words("it is not valid yet", Advice::RenewCertificate),
        },
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => of_name(shown),
        Fault::Revoked => {
            words("it was revoked by the authority that issued it", Advice::ReplaceCertificate)
        }
        Fault::BadSignature => {
            words("its signature is not that of the authority which it names", Advice::NewAuthority)
        }
        Fault::UnknownRevocationStatus
        | Fault::ExpiredRevocationList
        | Fault::ExpiredRevocationListContext { .. }
        | Fault::InvalidOcspResponse => {
            words("whether it was revoked cannot be found out", Advice::RevocationLater)
        }
        Fault::UnsupportedSignatureAlgorithmContext { .. }
        | Fault::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            words("it is signed in a way that is not accepted here", Advice::AnotherCertificate)
        }
        // Other faults are described by the certificate's contents, because the error would name types of the
        // library.
        _ => facts.map_or_else(unusual, |facts| of_kind(error, facts, shown.has_chain)),
    }
}

fn of_kind(error: &CertificateError, facts: &CertificateFacts, has_chain: bool) -> TlsFault {
    if facts.is_self_signed {
        return words(
            "it is self-signed, and not one that is trusted here",
            Advice::TrustCertificate,
        );
    }
    if facts.is_authority {
        return words(
            "it is the certificate of an authority (`CA:TRUE`), not of a server",
            Advice::OwnCertificate,
        );
    }
    if !facts.is_for_servers {
        return words(
            "it is not meant for servers (extended key usage)",
            Advice::AnotherCertificate,
        );
    }
    if facts.is_version_1 {
        return words(
            "it is of version 1, which says nothing about its use",
            Advice::AnotherCertificate,
        );
    }
    if *error != CertificateError::UnknownIssuer {
        return unusual();
    }
    let what = match &facts.issuer {
        Some(issuer) => format!("it was issued by `{issuer}`, which is not trusted here"),
        None => "it was issued by an authority that is not trusted here".to_owned(),
    };
    let advice = if has_chain { Advice::TrustAuthority } else { Advice::TrustAuthorityOrSendChain };
    words(what, advice)
}

fn of_name(shown: &Shown<'_>) -> TlsFault {
    let host = shown.host.map_or_else(|| "this host".to_owned(), |it| format!("`{}`", it.to_str()));
    let what = match shown.facts.map(|facts| facts.names.as_slice()) {
        None => format!("it is not for {host}"),
        Some([]) => format!("it is not for {host}: it names no host at all"),
        Some(names) => {
            let some: Vec<_> = names.iter().take(MOST_NAMES).map(|it| format!("`{it}`")).collect();
            let more = names.len().saturating_sub(MOST_NAMES);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("it is not for {host}: it is for {}{more}", some.join(", "))
        }
    };
    words(what, Advice::HostInCertificate)
}

fn unusual() -> TlsFault {
    words("it cannot be checked: something about it is unusual", Advice::AnotherCertificate)
}

/// Returns why a handshake failed for a reason other than the certificate.
pub(super) fn of_handshake(error: &rustls::Error) -> TlsFault {
    match error {
        rustls::Error::AlertReceived(alert) => {
            let advice = if alert::is_about_certificates(*alert) {
                Advice::ClientCertificate
            } else {
                Advice::TlsVersions
            };
            words(alert::in_words(*alert), advice)
        }
        rustls::Error::InvalidMessage(_)
        | rustls::Error::InappropriateMessage { .. }
        | rustls::Error::InappropriateHandshakeMessage { .. } => {
            words("what answers there does not speak TLS", Advice::WithoutTls)
        }
        rustls::Error::PeerIncompatible(_) | rustls::Error::NoApplicationProtocol => words(
            "the server has no version or cipher of TLS that is accepted here",
            Advice::TlsVersions,
        ),
        rustls::Error::PeerMisbehaved(_) => {
            words("the server breaks the rules of TLS", Advice::LookAtServer)
        }
        _ => words("the handshake went wrong", Advice::TlsVersions),
    }
}

/// Returns why a handshake failed that was answered in HTTP.
pub(super) fn plain_http() -> TlsFault {
    words("what answers there speaks plain HTTP, and no TLS", Advice::WithoutTls)
}

/// How many names of a certificate are shown.
const MOST_NAMES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_also_where_the_certificate_is_not_known() {
        let unknown = Shown { facts: None, host: None, has_chain: false };
        for (fault, what) in [
            (CertificateError::Revoked, "it was revoked by the authority that issued it"),
            (CertificateError::Expired, "it expired"),
            (CertificateError::NotValidYet, "it is not valid yet"),
            (CertificateError::NotValidForName, "it is not for this host"),
            (CertificateError::BadEncoding, "it cannot be read"),
            (
                CertificateError::UnknownRevocationStatus,
                "whether it was revoked cannot be found out",
            ),
            (
                CertificateError::ApplicationVerificationFailure,
                "it cannot be checked: something about it is unusual",
            ),
        ] {
            let told = of_certificate(&fault, &unknown);

            assert_eq!(told.what, what);
        }
    }

    #[test]
    fn what_does_not_speak_tls_is_told_as_such() {
        let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);

        assert_eq!(of_handshake(&plain).what, "what answers there does not speak TLS");
    }
}
