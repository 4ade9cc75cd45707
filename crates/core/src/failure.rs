//! Failures of an attempt below HTTP, as facts.
//!
//! The transport states what it saw and what it can prove; it never says what to do. What matters afterwards
//! is [`Delivery`]: whether the server may have acted.

mod advice;

use std::fmt;
use std::sync::Arc;

use crate::audience::Audience;
pub use advice::Advice;

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
    /// How a proxy failed, if it was one and not the server behind it. The detail then begins with its name.
    pub proxy: Option<ProxyFault>,
}

/// How a proxy failed, in place of the server behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyFault {
    /// It was reached, or said something: the detail is a sentence about it.
    Refused,
    /// It could not be reached, for the reason in the cause: the detail is its name.
    Silent,
}

impl Failure {
    /// Creates a failure that happened before a connection could carry the request.
    pub const fn not_sent(cause: Cause) -> Self {
        Self { cause, delivery: Delivery::NotSent, detail: None, advice: None, proxy: None }
    }

    /// Creates a failure after which the server may have the request.
    pub const fn unknown(cause: Cause) -> Self {
        Self { cause, delivery: Delivery::Unknown, detail: None, advice: None, proxy: None }
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

    /// Says that a proxy failed, in words that begin with its name.
    #[must_use]
    pub fn of_proxy(self, fault: ProxyFault, words: impl Into<Arc<str>>) -> Self {
        Self { proxy: Some(fault), ..self.with_detail(words) }
    }

    /// Returns the failure in words for this audience.
    pub fn words(&self, audience: Audience) -> String {
        let Some(detail) = self.detail.as_deref().filter(|_| audience == Audience::CommandLine)
        else {
            return self.to_string();
        };
        match (self.proxy, self.cause) {
            (Some(ProxyFault::Refused), _) => format!("the proxy at {detail}"),
            (Some(ProxyFault::Silent), cause) => {
                format!("the proxy at {detail} did not answer: {cause}")
            }
            // The detail explains what is misconfigured.
            (None, Cause::Misconfigured) => detail.to_owned(),
            (None, _) => self.to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        match &self.detail {
            Some(detail) if self.proxy.is_some() => write!(f, " (proxy {detail})"),
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
    /// The request was taken back before any of it was sent.
    Withheld,
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
            Self::Withheld => "taken back before it was sent",
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

    #[test]
    fn a_proxy_is_told_from_the_server() {
        let refused = Failure::not_sent(Cause::ConnectRefused);
        let silent = refused.clone().of_proxy(ProxyFault::Silent, "`127.0.0.1:9`");
        let deed = "`a:1` opens no tunnel to `b:2`: status 502";
        let refusing = refused.clone().of_proxy(ProxyFault::Refused, deed);

        let words = |failure: &Failure| [failure.to_string(), failure.words(Audience::CommandLine)];

        assert_eq!(words(&refused), ["connection refused"; 2]);
        assert_eq!(
            words(&silent),
            [
                "connection refused (proxy `127.0.0.1:9`)",
                "the proxy at `127.0.0.1:9` did not answer: connection refused",
            ]
        );
        assert_eq!(
            words(&refusing),
            [
                "connection refused (proxy `a:1` opens no tunnel to `b:2`: status 502)",
                "the proxy at `a:1` opens no tunnel to `b:2`: status 502",
            ]
        );
    }
}
