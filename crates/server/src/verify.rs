//! Tokens that the policy does not hold itself: hashed ones, and those that someone else has signed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use futures_util::future::{BoxFuture, FutureExt, ready};
use serde_json::json;

use crate::backend::Principal;
use crate::token::Token;

/// Knows whose a token is.
pub trait VerifyToken: Send + Sync + 'static {
    /// Returns who shows this token; or why that is not known.
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Identified, TokenRefused>>;
}

/// Who shows a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identified {
    /// The principal.
    pub principal: Principal,
    /// The groups that the token puts it in.
    pub groups: Arc<[Arc<str>]>,
}

/// Why a token does not let anybody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenRefused {
    /// It is not known here; another verifier may know it.
    Unknown,
    /// It cannot be checked now.
    Unverifiable {
        /// Why, without any secret.
        what: String,
        /// When to try again.
        retry_after: Duration,
    },
    /// It is of the right kind, and wrong or out of date.
    Wrong {
        /// What is wrong, without any secret.
        what: String,
    },
}

/// Where a client that has no token learns who would give it one (RFC 9728).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedResource {
    /// The URL of this server as clients know it, such as `https://gateway.example.com/mcp`.
    pub resource: String,
    /// The issuers of the authorization servers.
    pub authorization_servers: Vec<String>,
    /// The scopes that a client should ask for.
    pub scopes: Vec<String>,
}

/// Tokens of which only the hashes are kept. They can be replaced while the server runs.
///
/// A hash is as good as the token is hard to guess: these are tokens of 256 random bits, not passwords.
#[derive(Clone, Default)]
pub struct HashedTokens {
    principals: Arc<RwLock<BTreeMap<TokenHash, Principal>>>,
}

/// The SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenHash([u8; 32]);

impl ProtectedResource {
    /// Returns the URL of the document that describes the resource.
    pub(crate) fn metadata_url(&self) -> String {
        let scheme_end = self.resource.find("://").map_or(0, |place| place + 3);
        let path = self.resource[scheme_end..].find('/').map(|place| place + scheme_end);
        let (origin, path) = self.resource.split_at(path.unwrap_or(self.resource.len()));
        format!("{origin}/.well-known/oauth-protected-resource{}", path.trim_end_matches('/'))
    }

    /// Returns the document that describes the resource.
    pub(crate) fn document(&self) -> String {
        let mut document = json!({
            "resource": self.resource,
            "authorization_servers": self.authorization_servers,
            "bearer_methods_supported": ["header"],
        });
        if !self.scopes.is_empty() {
            document["scopes_supported"] = self.scopes.clone().into();
        }
        document.to_string()
    }
}

impl HashedTokens {
    /// Sets the tokens, in place of all that were known.
    pub fn set(&self, tokens: impl IntoIterator<Item = (TokenHash, Principal)>) {
        let tokens = tokens.into_iter().collect();
        *self.principals.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    fn find(&self, token: &str) -> Option<Principal> {
        // The time of the lookup says something about hashes, and nothing about tokens.
        let principals = self.principals.read().unwrap_or_else(PoisonError::into_inner);
        principals.get(&TokenHash::of(token)).cloned()
    }
}

impl VerifyToken for HashedTokens {
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Identified, TokenRefused>> {
        let found = self.find(token).ok_or(TokenRefused::Unknown);
        ready(found.map(|principal| Identified { principal, groups: Arc::default() })).boxed()
    }
}

impl TokenHash {
    /// Hashes a token.
    pub fn of_token(token: &Token) -> Self {
        Self::of(token.reveal())
    }

    fn of(token: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        Self(hash)
    }

    /// Reads a hash as it is written; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut hash = [0; 32];
        for (place, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

impl fmt::Debug for HashedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashedTokens").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_is_known_by_its_hash_until_others_are_set() {
        let token = Token::random().unwrap();
        let hash = TokenHash::of_token(&token);
        let tokens = HashedTokens::default();
        tokens.set([(hash, Principal::new("ada"))]);

        let found = tokens.verify(token.reveal()).await.unwrap();
        assert_eq!(found.principal, Principal::new("ada"));
        assert_eq!(tokens.verify(&hash.to_string()).await, Err(TokenRefused::Unknown));
        tokens.set([]);

        assert_eq!(tokens.verify(token.reveal()).await, Err(TokenRefused::Unknown));
    }

    #[test]
    fn a_resource_is_described_where_clients_look_for_it() {
        for (resource, expected) in [
            ("https://a.example/mcp", "https://a.example/.well-known/oauth-protected-resource/mcp"),
            ("https://a.example", "https://a.example/.well-known/oauth-protected-resource"),
            ("https://a.example/", "https://a.example/.well-known/oauth-protected-resource"),
        ] {
            let (authorization_servers, scopes) = (Vec::new(), Vec::new());
            let resource = resource.to_owned();
            let described = ProtectedResource { resource, authorization_servers, scopes };

            assert_eq!(described.metadata_url(), expected);
        }
    }

    #[test]
    fn a_hash_is_read_as_it_was_written_and_shown_to_nobody_by_accident() {
        let hash = TokenHash::of("s3cret");

        assert_eq!(TokenHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(format!("{hash:?}"), "TokenHash(..)");
        for text in ["", "00", &"g".repeat(64), &"\u{e9}".repeat(32), &"0".repeat(65)] {
            assert_eq!(TokenHash::parse(text), None, "{text}");
        }
    }
}
