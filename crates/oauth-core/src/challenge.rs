//! The demands of a response on our credentials: every challenge of every `WWW-Authenticate` line.
//!
//! The grammar is the core's (`ridethrough_wire::www_authenticate`); here is what the words mean to a login.

#[cfg(test)]
mod tests;

use std::fmt;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use ridethrough_wire::www_authenticate::{self, SchemeChallenge};

use crate::scope::ScopeSet;

/// The challenges of one response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenges {
    challenges: Vec<Challenge>,
    dpop_nonce: Option<String>,
}

impl Challenges {
    /// Reads the challenges and the `DPoP-Nonce` of a response.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, header::WWW_AUTHENTICATE};
    /// use ridethrough_oauth_core::challenge::Challenges;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.append(WWW_AUTHENTICATE, HeaderValue::from_static("Basic, Bearer scope=\"a b\""));
    ///
    /// assert_eq!(Challenges::read(&headers).scope(), Some("a b"));
    /// ```
    pub fn read(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(WWW_AUTHENTICATE).into_iter();
        let read =
            lines.flat_map(|it| www_authenticate::read(&String::from_utf8_lossy(it.as_bytes())));
        let challenges = read.take(MOST).map(|it| Challenge::of(&it)).collect();
        let nonce = headers.get("dpop-nonce").and_then(|value| value.to_str().ok());
        Self { challenges, dpop_nonce: nonce.map(str::to_owned) }
    }

    /// Returns all challenges, in the order of the response.
    pub fn iter(&self) -> impl Iterator<Item = &Challenge> {
        self.challenges.iter()
    }

    /// Returns the URL of the protected resource's metadata, from the first challenge that names it.
    pub fn resource_metadata(&self) -> Option<&str> {
        self.ours().find_map(|it| it.resource_metadata.as_deref())
    }

    /// Returns the scope that the server asks for, from the first challenge that names one.
    pub fn scope(&self) -> Option<&str> {
        self.ours().find_map(|it| it.scope.as_deref())
    }

    /// Whether a challenge is of this scheme.
    pub fn has_scheme(&self, scheme: Scheme) -> bool {
        self.challenges.iter().any(|it| it.scheme == scheme)
    }

    /// Returns the nonce that the next DPoP proof must carry.
    pub fn dpop_nonce(&self) -> Option<&str> {
        self.dpop_nonce.as_deref()
    }

    /// Whether the server refused a request for the nonce of its DPoP proof.
    pub fn wants_dpop_nonce(&self) -> bool {
        self.has_error("use_dpop_nonce")
    }

    /// Returns what a response with this status asks for; `None` if it asks nothing of our credentials.
    ///
    /// Some servers answer 403 to a token that expired: `invalid_token` has one meaning, whatever the status.
    /// A 403 without an error is final.
    pub fn demand(&self, status: StatusCode) -> Option<Demand> {
        if self.has_error("insufficient_scope") {
            let scope = ScopeSet::from_text(self.scope().unwrap_or_default());
            return Some(Demand::MoreScope(scope));
        }
        if self.wants_dpop_nonce()
            && let Some(nonce) = &self.dpop_nonce
        {
            return Some(Demand::DpopNonce(nonce.clone()));
        }
        let is_refused = status == StatusCode::UNAUTHORIZED || self.has_error("invalid_token");
        is_refused.then_some(Demand::Token)
    }

    fn has_error(&self, error: &str) -> bool {
        self.ours().any(|it| it.error.as_deref() == Some(error))
    }

    /// Returns the challenges of the schemes that OAuth uses.
    fn ours(&self) -> impl Iterator<Item = &Challenge> {
        self.challenges.iter().filter(|it| it.scheme != Scheme::Other)
    }
}

/// What a response asks of our credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// A DPoP proof with this nonce.
    DpopNonce(String),
    /// A token with more scope; empty if the server does not say which.
    MoreScope(ScopeSet),
    /// A token, or another one.
    Token,
}

/// One challenge: a scheme and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// The scheme.
    pub scheme: Scheme,
    /// The realm that the token is for, in words.
    pub realm: Option<String>,
    /// The scope that is needed.
    pub scope: Option<String>,
    /// Why the token was refused (RFC 6750, 3.1).
    pub error: Option<String>,
    /// The reason, for people.
    pub error_description: Option<String>,
    /// Where the protected resource's metadata is (RFC 9728, 5.1).
    pub resource_metadata: Option<String>,
    /// The algorithms that a DPoP proof may be signed with (RFC 9449, 7.1).
    pub algs: Option<String>,
}

impl Challenge {
    fn of(read: &SchemeChallenge) -> Self {
        let parameter = |name: &str| read.parameter(name).map(str::to_owned);
        Self {
            scheme: Scheme::named(&read.scheme),
            realm: parameter("realm"),
            scope: parameter("scope"),
            error: parameter("error"),
            error_description: parameter("error_description"),
            resource_metadata: parameter("resource_metadata"),
            algs: parameter("algs"),
        }
    }
}

/// Prints the challenge as a server would; an unknown scheme is printed as `Other`.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.scheme)?;
        let parameters = [
            ("realm", &self.realm),
            ("scope", &self.scope),
            ("error", &self.error),
            ("error_description", &self.error_description),
            ("resource_metadata", &self.resource_metadata),
            ("algs", &self.algs),
        ];
        let mut separator = " ";
        for (name, value) in parameters {
            let Some(value) = value else { continue };
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            write!(f, "{separator}{name}=\"{quoted}\"")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// The scheme of a challenge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// `Bearer` (RFC 6750).
    Bearer,
    /// `DPoP` (RFC 9449).
    Dpop,
    /// Any other scheme.
    #[default]
    Other,
}

impl Scheme {
    fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "bearer" => Self::Bearer,
            "dpop" => Self::Dpop,
            _ => Self::Other,
        }
    }
}

/// The most challenges that are read of one response.
const MOST: usize = 16;
