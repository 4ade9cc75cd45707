//! The error that no authorization server was found: what was asked, and what each URL answered.

use std::fmt;

use http::StatusCode;

use crate::address::{AddressError, HttpUrl};
use crate::metadata::DocumentError;

/// The error that no authorization server was found, with everything that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveryError {
    /// Why none was found.
    pub failure: DiscoveryFailure,
    /// The URLs that were asked, and what each answered.
    pub tried: Vec<Tried>,
}

impl DiscoveryError {
    /// Whether another discovery may succeed later.
    pub fn is_transient(&self) -> bool {
        self.failure == DiscoveryFailure::Transient
    }
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.failure)?;
        for (number, tried) in self.tried.iter().enumerate() {
            let separator = if number == 0 { "; tried" } else { "," };
            write!(f, "{separator} {tried}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DiscoveryError {}

/// Why no authorization server was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryFailure {
    /// A document names another issuer than the one that was looked for.
    #[error(
        "the metadata for the issuer `{expected}` says that it is `{found}`; if both are the same \
         server, trust the issuer `{found}`"
    )]
    IssuerMismatch {
        /// The issuer that was looked for.
        expected: String,
        /// The issuer that the document names.
        found: String,
    },
    /// No URL had a document.
    #[error("no metadata of an authorization server was found")]
    NoMetadata,
    /// No document lists S256.
    #[error(
        "the authorization server does not say that it knows PKCE with S256; if it does, assume PKCE"
    )]
    NoPkce,
    /// The resource is not the MCP server.
    #[error(
        "the metadata is for the resource `{resource}`, which is not the server `{server}`: {why}; \
         if it is, set the resource"
    )]
    ResourceMismatch {
        /// The resource that the document names.
        resource: String,
        /// The MCP server.
        server: String,
        /// What differs.
        why: AddressError,
    },
    /// A server was in trouble or out of reach, so nothing is known.
    #[error("the metadata could not be read; try again later")]
    Transient,
}

impl DiscoveryFailure {
    /// Returns what the answers add up to. Definite findings come first: waiting does not change them.
    pub(super) fn of(tried: &[Tried]) -> Self {
        let mismatch = tried.iter().find_map(|tried| match &tried.verdict {
            Verdict::OtherIssuer { expected, found } => {
                Some(Self::IssuerMismatch { expected: expected.clone(), found: found.clone() })
            }
            _ => None,
        });
        if let Some(mismatch) = mismatch {
            mismatch
        } else if tried.iter().any(|tried| tried.verdict == Verdict::NoPkce) {
            Self::NoPkce
        } else if tried.iter().any(|tried| tried.verdict.is_transient()) {
            Self::Transient
        } else {
            Self::NoMetadata
        }
    }
}

/// A URL that was asked, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tried {
    /// The URL without its query.
    pub url: String,
    /// The meaning of its answer.
    pub verdict: Verdict,
}

impl Tried {
    pub(super) fn new(url: &HttpUrl, verdict: Verdict) -> Self {
        Self { url: url.to_string(), verdict }
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.url, self.verdict)
    }
}

/// The meaning of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Verdict {
    /// The server is in trouble: nothing is known.
    #[error("in trouble: {0}")]
    InTrouble(StatusCode),
    /// The document does not list S256.
    #[error("no PKCE with S256")]
    NoPkce,
    /// Status 200, and not the document.
    #[error("no such document: {0}")]
    NotADocument(DocumentError),
    /// There is no document.
    #[error("{0}")]
    NotThere(StatusCode),
    /// The document is another issuer's.
    #[error("its issuer is `{found}` instead of `{expected}`")]
    OtherIssuer {
        /// The issuer that was looked for.
        expected: String,
        /// The issuer that it names.
        found: String,
    },
    /// There was no answer: nothing is known.
    #[error("no answer: {0}")]
    Unreachable(String),
    /// The URL must not be used.
    #[error("not asked: {0}")]
    Unusable(AddressError),
}

impl Verdict {
    /// Whether the URL may answer otherwise later.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::InTrouble(_) | Self::Unreachable(_))
    }
}
