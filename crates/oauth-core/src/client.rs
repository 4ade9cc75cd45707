//! Our identity at an authorization server: a client id, perhaps a secret, and the issuer that they belong
//! to.
//!
//! A client belongs to the issuer that it was registered at, and its secret is sent to no other.

use serde::{Deserialize, Serialize};

use crate::address::{AddressError, HttpUrl};
use crate::secret::{self, Secret};
use crate::timestamp::Timestamp;
use crate::words;

/// A client of an authorization server.
///
/// Its serialised form, which is stored, has the secret in the clear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Client {
    /// `client_id`.
    pub id: String,
    /// `client_secret`. A secret that was issued is always sent, whatever else the registration says.
    #[serde(default, with = "secret::stored_option", skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// When the secret ends; `None` means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_expires_at: Option<Timestamp>,
    /// How the client authenticates, if the registration says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<AuthMethod>,
    /// How the client became known.
    pub kind: ClientKind,
    /// The issuer that the client belongs to; `None` means that it is not known yet, or any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The redirect URIs, as registered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uris: Vec<String>,
}

impl Client {
    /// Creates a client that a person registered.
    pub fn preregistered(id: impl Into<String>, secret: Option<Secret>) -> Self {
        Self::new(id.into(), secret, ClientKind::Preregistered)
    }

    /// Creates a client whose id is the URL of its metadata: https, with a path.
    pub fn metadata_document(url: &HttpUrl) -> Result<Self, AddressError> {
        if !url.origin().starts_with("https:") {
            return Err(AddressError::PlainHttp);
        }
        if !url.has_path() {
            return Err(AddressError::OtherPath);
        }
        Ok(Self::new(url.as_str().to_owned(), None, ClientKind::MetadataDocument))
    }

    pub(crate) const fn new(id: String, secret: Option<Secret>, kind: ClientKind) -> Self {
        Self {
            id,
            secret,
            secret_expires_at: None,
            method: None,
            kind,
            issuer: None,
            redirect_uris: Vec::new(),
        }
    }

    /// Binds the client to this issuer.
    #[must_use]
    pub fn of_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets how the client authenticates.
    #[must_use]
    pub const fn with_method(mut self, method: AuthMethod) -> Self {
        self.method = Some(method);
        self
    }

    /// Checks whether this client may be shown to this issuer.
    pub fn check_issuer(&self, issuer: &str) -> Result<(), OtherIssuer> {
        match &self.issuer {
            Some(own) if own != issuer && self.kind != ClientKind::MetadataDocument => {
                Err(OtherIssuer { own: own.clone(), found: words::shown(issuer) })
            }
            _ => Ok(()),
        }
    }

    /// Whether the secret has ended.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.secret_expires_at.is_some_and(|end| end <= now)
    }

    /// Returns what to do about a server that does not know this client.
    ///
    /// Servers delete clients that registered themselves. A client that a person registered, or published, is
    /// reported, and nothing is deleted.
    pub const fn when_dead(&self) -> DeadClient {
        match self.kind {
            ClientKind::Dynamic => DeadClient::RegisterAgainOnce,
            ClientKind::MetadataDocument | ClientKind::Preregistered => DeadClient::Report,
        }
    }

    /// Returns how the client authenticates at a server that lists these methods.
    pub fn method_at(&self, listed: Option<&[String]>) -> AuthMethod {
        let is_listed = |method: AuthMethod| {
            listed.is_some_and(|list| list.iter().any(|it| it == method.name()))
        };
        match (self.method, &self.secret) {
            (Some(AuthMethod::PrivateKeyJwt), _) => AuthMethod::PrivateKeyJwt,
            (_, None) => AuthMethod::None,
            (Some(AuthMethod::ClientSecretBasic), _) => AuthMethod::ClientSecretBasic,
            (Some(AuthMethod::ClientSecretPost), _) => AuthMethod::ClientSecretPost,
            _ if is_listed(AuthMethod::ClientSecretBasic)
                && (self.kind == ClientKind::Preregistered
                    || !is_listed(AuthMethod::ClientSecretPost)) =>
            {
                AuthMethod::ClientSecretBasic
            }
            // The default of RFC 8414.
            (None, _) if self.kind == ClientKind::Preregistered && listed.is_none() => {
                AuthMethod::ClientSecretBasic
            }
            // Servers that issue a secret and do not say how to send it read it from the body.
            _ => AuthMethod::ClientSecretPost,
        }
    }
}

/// How a client became known to an authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// It registered itself (RFC 7591).
    Dynamic,
    /// Its id is the URL of its metadata.
    MetadataDocument,
    /// A person registered it.
    Preregistered,
}

/// What to do about a server that does not know a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadClient {
    /// Register once more; drop the old tokens only after the new login.
    RegisterAgainOnce,
    /// Tell the person; delete nothing.
    Report,
}

/// How a client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// Id and secret in `Authorization`.
    ClientSecretBasic,
    /// Id and secret in the body.
    ClientSecretPost,
    /// The id in the body.
    None,
    /// A signed assertion in the body.
    PrivateKeyJwt,
}

impl AuthMethod {
    /// Returns the name that metadata and registrations use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::None => "none",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::ClientSecretBasic, Self::ClientSecretPost, Self::None, Self::PrivateKeyJwt]
            .into_iter()
            .find(|method| method.name() == name)
    }
}

/// The error that a client, code or token belongs to another issuer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it belongs to the issuer `{own}` and was not sent to `{found}`; log in again to use that one"
)]
#[non_exhaustive]
pub struct OtherIssuer {
    /// The issuer that it belongs to.
    pub own: String,
    /// The issuer that it would have gone to.
    pub found: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dynamic(method: Option<AuthMethod>) -> Client {
        let secret = Some(Secret::new("s"));
        Client { method, ..Client::new("c".into(), secret, ClientKind::Dynamic) }
    }

    fn listed(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|it| (*it).to_owned()).collect())
    }

    #[test]
    fn an_issued_secret_is_always_sent() {
        for method in [None, Some(AuthMethod::None)] {
            let client = dynamic(method);

            assert_eq!(client.method_at(None), AuthMethod::ClientSecretPost);
            let none = listed(&["none"]);
            assert_eq!(client.method_at(none.as_deref()), AuthMethod::ClientSecretPost);
            let basic = listed(&["client_secret_basic"]);
            assert_eq!(client.method_at(basic.as_deref()), AuthMethod::ClientSecretBasic);
            let both = listed(&["client_secret_basic", "client_secret_post"]);
            assert_eq!(client.method_at(both.as_deref()), AuthMethod::ClientSecretPost);
        }
    }

    #[test]
    fn what_the_registration_says_counts_more_than_what_the_server_lists() {
        let post = listed(&["client_secret_post"]);

        let client = dynamic(Some(AuthMethod::ClientSecretBasic));

        assert_eq!(client.method_at(post.as_deref()), AuthMethod::ClientSecretBasic);
    }

    #[test]
    fn a_secret_of_a_person_goes_by_the_list_and_else_by_the_header() {
        let client = Client::preregistered("c", Some(Secret::new("s")));
        let both = listed(&["client_secret_post", "client_secret_basic"]);
        let post = listed(&["client_secret_post"]);

        assert_eq!(client.method_at(None), AuthMethod::ClientSecretBasic);
        assert_eq!(client.method_at(both.as_deref()), AuthMethod::ClientSecretBasic);
        assert_eq!(client.method_at(post.as_deref()), AuthMethod::ClientSecretPost);
        assert_eq!(Client::preregistered("c", None).method_at(None), AuthMethod::None);
    }

    #[test]
    fn a_client_is_shown_to_its_own_issuer_only_unless_its_id_is_a_url() {
        let client = dynamic(None).of_issuer("https://one.example");
        let url = HttpUrl::parse("https://me.example/client.json").unwrap();
        let portable = Client::metadata_document(&url).unwrap().of_issuer("https://one.example");

        assert!(client.check_issuer("https://one.example").is_ok());
        assert!(client.check_issuer("https://one.example/").is_err());
        assert!(portable.check_issuer("https://two.example").is_ok());
    }

    #[test]
    fn the_url_of_a_metadata_document_is_https_and_has_a_path() {
        for bad in ["https://me.example", "https://me.example/", "http://localhost/c.json"] {
            assert!(Client::metadata_document(&HttpUrl::parse(bad).unwrap()).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_a_client_that_registered_itself_is_registered_again() {
        assert_eq!(dynamic(None).when_dead(), DeadClient::RegisterAgainOnce);
        assert_eq!(Client::preregistered("c", None).when_dead(), DeadClient::Report);
    }
}
