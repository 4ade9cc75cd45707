//! Becomes a client of an authorization server: which way, what to send, and what the answer means.
//!
//! A client that a person registered comes first, then one whose id is a URL, then one that registers itself
//! (RFC 7591); else the person is asked. A registration contains the least that servers accept: some refuse a
//! member or a scope that they do not know.

mod answer;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::address::HttpUrl;
use crate::client::{AuthMethod, Client, OtherIssuer};
use crate::metadata::AuthorizationServer;
use crate::scope::ScopeSet;
use crate::timestamp::Timestamp;

pub use answer::{RegistrationError, RegistrationOutcome};

/// The clients that may be used at an authorization server.
#[derive(Clone, Debug, Default)]
pub struct ClientSources {
    /// The client that a person registered.
    pub preregistered: Option<Client>,
    /// The client whose id is a URL.
    pub metadata_document: Option<Client>,
    /// The client that registered itself before.
    pub recorded: Option<Client>,
}

/// Our description in a registration.
#[derive(Clone, Debug)]
pub struct ClientDescription {
    /// Our name, which people read when they consent.
    pub name: String,
    /// The redirect URIs: both spellings of the loopback address, with one port.
    pub redirect_uris: Vec<HttpUrl>,
    /// The scopes that will be requested.
    pub scopes: ScopeSet,
    /// How people will log in.
    pub login: LoginWay,
}

/// How people log in at a client that registers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginWay {
    /// By a browser that comes back.
    Browser,
    /// On another device. A redirect URI is still registered: servers want one.
    Device,
}

/// The client to use.
#[derive(Clone, Debug)]
pub enum ClientChoice {
    /// No client is possible without a person: ask for a client id.
    AskPerson,
    /// Register first.
    Register(Registration),
    /// This one.
    Use(Client),
}

impl ClientChoice {
    /// Chooses a client for this authorization server.
    ///
    /// Fails if the person's client belongs to another issuer: using another one in its place would hide that
    /// the server has moved.
    pub fn choose(
        sources: ClientSources,
        description: ClientDescription,
        server: &AuthorizationServer,
        now: Timestamp,
    ) -> Result<Self, OtherIssuer> {
        if let Some(client) = sources.preregistered {
            client.check_issuer(&server.issuer)?;
            return Ok(Self::Use(client));
        }
        let document = sources.metadata_document.filter(|_| server.supports_client_id_metadata);
        if let Some(client) = document {
            return Ok(Self::Use(client));
        }
        let is_usable = |client: &Client| {
            client.issuer.as_deref() == Some(&server.issuer)
                && !client.is_expired(now)
                && description.is_registered_with(client)
        };
        if let Some(client) = sources.recorded.filter(is_usable) {
            return Ok(Self::Use(client));
        }
        let registration = Registration::new(description, server);
        Ok(registration.map_or(Self::AskPerson, Self::Register))
    }
}

impl ClientDescription {
    /// Whether the client was registered with these redirect URIs. Servers compare them byte for byte, many
    /// of them the port, too.
    fn is_registered_with(&self, client: &Client) -> bool {
        let registered = &client.redirect_uris;
        registered.is_empty()
            || self.redirect_uris.iter().any(|uri| registered.iter().any(|it| it == uri.as_str()))
    }
}

/// A registration that is under way: send [`Self::body`] to [`Self::url`], hand the answer to
/// [`Self::handle`].
#[derive(Clone, Debug)]
pub struct Registration {
    url: HttpUrl,
    issuer: String,
    description: ClientDescription,
    method: AuthMethod,
}

impl Registration {
    /// Begins a registration; `None` if the server has no endpoint for it.
    pub fn new(description: ClientDescription, server: &AuthorizationServer) -> Option<Self> {
        Some(Self {
            url: server.registration_endpoint.clone()?,
            issuer: server.issuer.clone(),
            method: requested_method(server.token_endpoint_auth_methods_supported.as_deref()),
            description,
        })
    }

    /// Returns where to POST, without following redirects.
    pub const fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// Returns the body, `application/json`; it holds no secret.
    pub fn body(&self) -> String {
        let uris: Vec<&str> = self.description.redirect_uris.iter().map(HttpUrl::as_str).collect();
        let mut body: Value = json!({
            "client_name": self.description.name,
            "application_type": "native",
            "redirect_uris": uris,
            "grant_types": self.grant_types(),
            "response_types": ["code"],
            "token_endpoint_auth_method": self.method.name(),
        });
        if let Some(scope) = self.description.scopes.to_text() {
            body["scope"] = scope.into();
        }
        body.to_string()
    }

    /// Returns the grants to register, no more than are needed: some servers refuse a grant that they do not
    /// know.
    const fn grant_types(&self) -> &'static [&'static str] {
        match self.description.login {
            LoginWay::Browser => &["authorization_code", "refresh_token"],
            LoginWay::Device => &["authorization_code", "refresh_token", DEVICE_CODE],
        }
    }
}

/// Returns the authentication to ask for. A program on a person's machine keeps no secret, so it asks for
/// none where that is allowed.
fn requested_method(listed: Option<&[String]>) -> AuthMethod {
    let is_listed = |method: &AuthMethod| {
        listed.is_none_or(|list| list.iter().any(|name| name == method.name()))
    };
    [AuthMethod::None, AuthMethod::ClientSecretPost, AuthMethod::ClientSecretBasic]
        .into_iter()
        .find(is_listed)
        .unwrap_or(AuthMethod::None)
}

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
