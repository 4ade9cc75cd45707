//! Failures of an attempt below HTTP, as facts.
//!
//! The transport states what it saw and what it can prove; it never says what to do. What matters afterwards
//! is [`Delivery`]: whether the server may have acted.

use std::fmt;
use std::sync::Arc;

/// What is known about the server having acted on a request.
///
/// The order has a meaning: doubt outranks certainty, and within one exchange the value only rises. A later
/// attempt that was refused says nothing about the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    /// No byte of the request can have reached the server.
    #[default]
    NotSent,
    /// The server had the request and said that it did not run it.
    Refused,
    /// The server has, or may have, received the request.
    Unknown,
}

/// How an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub cause: Cause,
    /// Whether the transport can prove that nothing was sent.
    pub delivery: Delivery,
    /// The words of the layer below, for people; never a secret.
    pub detail: Option<Arc<str>>,
    /// What a person can do about it, if the layer below knows more than the cause says.
    pub advice: Option<Advice>,
}

impl Failure {
    /// Creates a failure that happened before a connection could carry the request.
    pub const fn not_sent(cause: Cause) -> Self {
        Self { cause, delivery: Delivery::NotSent, detail: None, advice: None }
    }

    /// Creates a failure after which the server may have the request.
    pub const fn unknown(cause: Cause) -> Self {
        Self { cause, delivery: Delivery::Unknown, detail: None, advice: None }
    }

    /// Adds the words of the layer below.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Arc<str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds what a person can do about it.
    #[must_use]
    pub const fn with_advice(mut self, advice: Advice) -> Self {
        self.advice = Some(advice);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        match &self.detail {
            // The system's words merely repeat the cause.
            Some(detail) if starts_with(detail, &self.cause.to_string()) => Ok(()),
            Some(detail) => write!(f, " ({detail})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

fn starts_with(text: &str, words: &str) -> bool {
    text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
}

/// What a person can do about a failure, where the cause alone does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// The certificate does not fit its use.
    AnotherCertificate,
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
    /// Returns the advice in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::AnotherCertificate => "give the server another certificate",
            Self::ClientCertificate => {
                "the server wants to know its clients: show it a certificate with `ClientBuilder::client_certificate`"
            }
            Self::HostInCertificate => {
                "use a name that it has in the URL, or give the server a certificate for this host"
            }
            Self::InstallProgram => "install the program, or write the whole path of its file",
            Self::LookAtServer => "look at the log of the server and of what stands before it",
            Self::NewAuthority => {
                "if that authority has a new key, name its new certificate (PEM) with `--cacert FILE`, `SSL_CERT_FILE` or `ClientBuilder::root_certificates`; otherwise somebody may stand in between"
            }
            Self::OwnCertificate => {
                "give the server a certificate of its own, or name exactly this one (PEM) with `--cacert FILE`, `SSL_CERT_FILE` or `ClientBuilder::root_certificates`"
            }
            Self::RenewCertificate => {
                "renew the server's certificate; if it is valid, set the clock of this machine"
            }
            Self::ReplaceCertificate => {
                "give the server a new certificate; until then do not trust what answers there"
            }
            Self::RevocationLater => {
                "try again later; if that does not help, look at what the server's authority says about it"
            }
            Self::RunProgram => "start the program by itself, and look at what it prints",
            Self::TlsVersions => "let the server speak TLS 1.2 or 1.3, and look at its log",
            Self::TrustAuthority => {
                "if you trust that authority, name its certificate (PEM) with `--cacert FILE`, `SSL_CERT_FILE` or `ClientBuilder::root_certificates`"
            }
            Self::TrustAuthorityOrSendChain => {
                "if you trust that authority, name its certificate (PEM) with `--cacert FILE`, `SSL_CERT_FILE` or `ClientBuilder::root_certificates`; if everybody trusts it, let the server send the certificates in between, too"
            }
            Self::TrustCertificate => {
                "if it is your server's, name that certificate (PEM) with `--cacert FILE`, `SSL_CERT_FILE` or `ClientBuilder::root_certificates`"
            }
            Self::WithoutTls => "write `http://` if the server has no TLS, or correct the port",
        }
    }
}

/// The causes of failure that the machine distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The peer's certificate was not accepted.
    BadCertificate,
    /// The connection ended without the expected answer.
    Closed,
    /// Nothing listens at the address.
    ConnectRefused,
    /// No connection was made within the time limit.
    ConnectTimedOut,
    /// The one connection that the request needs is gone, and nothing was sent.
    ConnectionGone,
    /// The server sent more than is kept for a slow reader.
    Flooded,
    /// The URL, proxy or program cannot work as configured.
    Misconfigured,
    /// The name does not resolve.
    NameUnknown,
    /// The connection was reset.
    Reset,
    /// Nothing arrived for too long, and the server did not answer a ping.
    Silent,
    /// HTTP/2 refused the stream, or the connection went away (GOAWAY).
    StreamRefused,
    /// No answer came within the time limit of this message.
    TimedOut,
    /// The TLS handshake was refused.
    TlsRefused,
    /// A message, head or body was larger than its limit.
    TooLarge,
    /// The bytes were not HTTP, or not what their headers claimed.
    Unreadable,
}

impl Cause {
    /// Whether waiting cannot help, given whether a connect has ever succeeded.
    ///
    /// A name that resolved before may resolve again; one that never did is probably mistyped.
    pub const fn is_lasting(self, connected_before: bool) -> bool {
        match self {
            Self::BadCertificate | Self::Misconfigured | Self::TlsRefused => true,
            Self::NameUnknown => !connected_before,
            _ => false,
        }
    }

    /// Whether the peer broke the protocol or a limit, as opposed to a connection that broke.
    pub const fn is_misbehaviour(self) -> bool {
        matches!(self, Self::Flooded | Self::TooLarge | Self::Unreadable)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadCertificate => "the server's certificate was not accepted",
            Self::Closed => "connection closed before the answer",
            Self::ConnectRefused => "connection refused",
            Self::ConnectTimedOut => "no connection within the time limit",
            Self::ConnectionGone => "the connection that it belongs to is gone",
            Self::Flooded => "the server said more than can be kept",
            Self::Misconfigured => "the address, proxy or program cannot work as configured",
            Self::NameUnknown => "the server's name does not resolve",
            Self::Reset => "connection reset",
            Self::Silent => "no byte arrived and the server did not answer probes",
            Self::StreamRefused => "the server refused to open a stream",
            Self::TimedOut => "no answer within the time limit",
            Self::TlsRefused => "the TLS handshake was refused",
            Self::TooLarge => "a message was larger than its limit",
            Self::Unreadable => "the answer was not readable as HTTP",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_outranks_certainty() {
        assert!(Delivery::NotSent < Delivery::Refused);
        assert!(Delivery::Refused < Delivery::Unknown);
    }

    #[test]
    fn what_the_system_calls_the_same_is_not_said_twice() {
        let refused = Failure::not_sent(Cause::ConnectRefused);
        let twice = refused.clone().with_detail("Connection refused (os error 111)");
        let more = refused.with_detail("through the proxy");

        assert_eq!(twice.to_string(), "connection refused");
        assert_eq!(more.to_string(), "connection refused (through the proxy)");
    }

    #[test]
    fn an_unknown_name_is_lasting_only_before_the_first_connect() {
        assert!(Cause::NameUnknown.is_lasting(false));
        assert!(!Cause::NameUnknown.is_lasting(true));
    }
}
