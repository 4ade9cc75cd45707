//! What a person can do about a failure, in words for who reads them.

use std::borrow::Cow;

use crate::audience::Audience;

/// What a person can do about a failure, where the cause alone does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// The certificate does not fit its use.
    AnotherCertificate,
    /// The proxy that the environment names failed.
    CheckProxy,
    /// The server asks for a client certificate.
    ClientCertificate,
    /// The certificate is for other hosts.
    HostInCertificate,
    /// There is no such program.
    InstallProgram,
    /// The server breaks the protocol.
    LookAtServer,
    /// The authority's key has changed.
    NewAuthority,
    /// The server presents the certificate of an authority as its own.
    OwnCertificate,
    /// The certificate is not valid at this time.
    RenewCertificate,
    /// The certificate was revoked.
    ReplaceCertificate,
    /// The revocation status of the certificate is not known.
    RevocationLater,
    /// The server is a program that has ended.
    RunProgram,
    /// Client and server have no version of TLS in common.
    TlsVersions,
    /// The certificate's authority is not known.
    TrustAuthority,
    /// The certificate's authority is not known, and the server sent no chain that leads to a known one.
    TrustAuthorityOrSendChain,
    /// The certificate is self-signed.
    TrustCertificate,
    /// The server does not speak TLS.
    WithoutTls,
}

impl Advice {
    /// Returns the advice in words for this audience.
    pub fn words(self, audience: Audience) -> Cow<'static, str> {
        let place = match audience {
            Audience::CommandLine => "`--cacert FILE` or `SSL_CERT_FILE`",
            Audience::Program => {
                "`--cacert FILE`, `SSL_CERT_FILE` or `ClientBuilder::root_certificates`"
            }
        };
        Cow::Owned(match self {
            Self::NewAuthority => format!(
                "if that authority has a new key, name its new certificate (PEM) with {place}; otherwise somebody may stand in between"
            ),
            Self::OwnCertificate => format!(
                "give the server a certificate of its own, or name exactly this one (PEM) with {place}"
            ),
            Self::TrustAuthority => {
                format!("if you trust that authority, name its certificate (PEM) with {place}")
            }
            Self::TrustAuthorityOrSendChain => format!(
                "if you trust that authority, name its certificate (PEM) with {place}; if everybody trusts it, let the server send the certificates in between, too"
            ),
            Self::TrustCertificate => {
                format!("if it is your server's, name that certificate (PEM) with {place}")
            }
            _ => return Cow::Borrowed(self.plain_words(audience)),
        })
    }

    /// Returns the words of an advice that names no place for certificates.
    const fn plain_words(self, audience: Audience) -> &'static str {
        match (self, audience) {
            (Self::AnotherCertificate, _) => "give the server another certificate",
            (Self::CheckProxy, _) => {
                "check the proxy that `https_proxy`, `http_proxy` or `all_proxy` names; `no_proxy` lists hosts that are reached without it"
            }
            (Self::ClientCertificate, Audience::CommandLine) => {
                "the server wants to know its clients: this program cannot show it a certificate yet, the library can"
            }
            (Self::ClientCertificate, Audience::Program) => {
                "the server wants to know its clients: show it a certificate with `ClientBuilder::client_certificate`"
            }
            (Self::HostInCertificate, _) => {
                "use a name that it has in the URL, or give the server a certificate for this host"
            }
            (Self::InstallProgram, _) => "install the program, or write the whole path of its file",
            (Self::LookAtServer, _) => "look at the log of the server and of what stands before it",
            (Self::RenewCertificate, _) => {
                "renew the server's certificate; if it is valid, set the clock of this machine"
            }
            (Self::ReplaceCertificate, _) => {
                "give the server a new certificate; until then do not trust what answers there"
            }
            (Self::RevocationLater, _) => {
                "try again later; if that does not help, look at what the server's authority says about it"
            }
            (Self::RunProgram, _) => "start the program by itself, and look at what it prints",
            (Self::TlsVersions, _) => "let the server speak TLS 1.2 or 1.3, and look at its log",
            (Self::WithoutTls, _) => {
                "write `http://` if the server has no TLS, or correct the port"
            }
            // They name a place for certificates.
            (
                Self::NewAuthority
                | Self::OwnCertificate
                | Self::TrustAuthority
                | Self::TrustAuthorityOrSendChain
                | Self::TrustCertificate,
                _,
            ) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_at_the_command_line_is_told_no_method_of_the_library() {
        for advice in [
            Advice::ClientCertificate,
            Advice::NewAuthority,
            Advice::OwnCertificate,
            Advice::TrustAuthority,
            Advice::TrustAuthorityOrSendChain,
            Advice::TrustCertificate,
        ] {
            assert!(advice.words(Audience::Program).contains("`ClientBuilder::"), "{advice:?}");
            assert!(!advice.words(Audience::CommandLine).contains("::"), "{advice:?}");
        }
    }
}
