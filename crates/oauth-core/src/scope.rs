//! Chooses the scopes to ask for, and decides when to ask for more.
//!
//! The person's choice comes first, then the challenge, then what the resource lists; if none of them names a
//! scope, none is sent. `offline_access` is asked for only where the authorization server lists it, because
//! others refuse the whole login for it.

mod step_up;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::metadata::AuthorizationServer;

pub use step_up::{StepUp, StepUps};

/// A set of scopes in the order in which they were named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScopeSet(Vec<String>);

impl ScopeSet {
    /// Reads scopes that are separated by spaces.
    pub fn from_text(text: &str) -> Self {
        text.split_ascii_whitespace().collect()
    }

    /// Returns the scopes as they are sent; `None` if there are none, because an empty `scope` is an error.
    pub fn to_text(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(" "))
    }

    /// Whether there are no scopes.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the set contains this scope.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|known| known == scope)
    }

    /// Whether the set contains all of these scopes.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|scope| self.contains(scope))
    }

    /// Returns the scopes, one by one.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns both sets together, each scope once.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    fn without(&self, scope: &str) -> Self {
        self.iter().filter(|known| *known != scope).collect()
    }
}

impl<'a> FromIterator<&'a str> for ScopeSet {
    fn from_iter<T: IntoIterator<Item = &'a str>>(scopes: T) -> Self {
        let mut set = Self::default();
        for scope in scopes {
            if !scope.is_empty() && !set.contains(scope) {
                set.0.push(scope.to_owned());
            }
        }
        set
    }
}

/// The sources of a scope.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScopeSources<'a> {
    /// The scopes that the person configured. They are sent unchanged.
    pub configured: Option<&'a ScopeSet>,
    /// `scope` of the challenge.
    pub challenge: Option<&'a str>,
    /// `scopes_supported` of the protected resource. An empty list means that none is to be sent.
    pub resource: Option<&'a [String]>,
}

/// The scopes of an authorization request, and the parameters that a refresh token depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeRequest {
    /// The scopes, for both registration and authorization.
    pub scopes: ScopeSet,
    /// Further parameters of the authorization URL.
    pub parameters: Vec<(&'static str, &'static str)>,
}

impl ScopeRequest {
    /// Chooses the scopes for this authorization server.
    pub fn choose(sources: ScopeSources<'_>, server: &AuthorizationServer) -> Self {
        let scopes = match sources.configured {
            Some(configured) => configured.clone(),
            None => with_offline_access(discovered(sources), server),
        };
        Self::for_scopes(scopes, server)
    }

    /// Asks this authorization server for exactly these scopes.
    pub fn for_scopes(scopes: ScopeSet, server: &AuthorizationServer) -> Self {
        let mut parameters = Vec::new();
        let is_google = GOOGLE.contains(&server.issuer.as_str());
        if is_google {
            parameters.push(("access_type", "offline"));
        }
        // Without it OpenID Connect drops `offline_access` silently (Core, 11), and Google the refresh token.
        if is_google || scopes.contains(OFFLINE_ACCESS) {
            parameters.push(("prompt", "consent"));
        }
        Self { scopes, parameters }
    }
}

fn discovered(sources: ScopeSources<'_>) -> ScopeSet {
    if let Some(challenge) = sources.challenge.map(ScopeSet::from_text).filter(|it| !it.is_empty())
    {
        return challenge;
    }
    sources.resource.unwrap_or_default().iter().map(String::as_str).collect()
}

/// Adds `offline_access`, unless there is no other scope: the server then uses its default scopes, which
/// `offline_access` alone would replace.
fn with_offline_access(scopes: ScopeSet, server: &AuthorizationServer) -> ScopeSet {
    let listed = server.scopes_supported.as_deref().unwrap_or_default();
    if !listed.iter().any(|scope| scope == OFFLINE_ACCESS) {
        return scopes.without(OFFLINE_ACCESS);
    }
    if scopes.is_empty() {
        return scopes;
    }
    scopes.union(&ScopeSet::from_text(OFFLINE_ACCESS))
}

const OFFLINE_ACCESS: &str = "offline_access";
/// Google's issuers, which give a refresh token for parameters of the URL, not for a scope.
const GOOGLE: [&str; 2] = ["https://accounts.google.com", "https://accounts.google.com/"];
