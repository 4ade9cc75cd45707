//! The authorization URL, and the login that waits for its callback.

use super::PendingLogin;
use crate::address::{AddressError, HttpUrl};
use crate::client::{Client, OtherIssuer};
use crate::form;
use crate::jwt;
use crate::metadata::AuthorizationServer;
use crate::pkce::Pkce;
use crate::scope::ScopeRequest;
use crate::secret::Secret;

/// The parameters of a login.
#[derive(Clone, Copy, Debug)]
pub struct LoginRequest<'a> {
    /// Where the person logs in.
    pub server: &'a AuthorizationServer,
    /// The client that asks.
    pub client: &'a Client,
    /// Where the callback goes; bound before the URL is opened.
    pub redirect_uri: &'a HttpUrl,
    /// The scopes that are asked for.
    pub scope: &'a ScopeRequest,
    /// The MCP server, byte for byte; `None` if the parameter is not to be sent.
    pub resource: Option<&'a str>,
    /// The thumbprint of the key that the tokens will be bound to (RFC 9449, 10), so that a stolen code is useless.
    pub key_thumbprint: Option<&'a str>,
    /// Parameters that the person adds, such as `audience`. They may replace `prompt` and the like, never
    /// what makes the login safe.
    pub extra_parameters: &'a [(String, String)],
}

/// Random bytes for one login, never used twice.
pub struct LoginRandom {
    /// The bytes for the state.
    pub state: [u8; 32],
    /// The bytes for the verifier.
    pub verifier: [u8; 32],
}

impl LoginRequest<'_> {
    /// Makes the URL and the login that waits for its callback.
    pub fn begin(&self, random: &LoginRandom) -> Result<PendingLogin, LoginStartError> {
        self.client.check_issuer(&self.server.issuer)?;
        let endpoint = self.server.authorization_endpoint.as_ref();
        let endpoint = endpoint.ok_or(LoginStartError::NoEndpoint)?;
        self.check_parameters(endpoint)?;
        let state = jwt::encode(&random.state);
        let pkce = Pkce::from_random(random.verifier);
        let url = self.url(endpoint, &state, &pkce)?;
        Ok(PendingLogin {
            state: Secret::new(state),
            verifier: pkce.verifier().clone(),
            issuer: self.server.issuer.clone(),
            sends_issuer: self.server.sends_issuer,
            redirect_uri: self.redirect_uri.as_str().to_owned(),
            resource: self.resource.map(str::to_owned),
            scopes: self.scope.scopes.clone(),
            url: url.as_str().to_owned(),
            is_over: false,
        })
    }

    fn url(
        &self,
        endpoint: &HttpUrl,
        state: &str,
        pkce: &Pkce,
    ) -> Result<HttpUrl, LoginStartError> {
        let challenge = pkce.challenge();
        let scope = self.scope.scopes.to_text();
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", self.client.id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("state", state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        pairs.extend(scope.as_deref().map(|scope| ("scope", scope)));
        pairs.extend(self.resource.map(|resource| ("resource", resource)));
        pairs.extend(self.key_thumbprint.map(|thumbprint| ("dpop_jkt", thumbprint)));
        let is_replaced =
            |name: &str| self.extra_parameters.iter().any(|(extra, _)| extra.as_str() == name);
        pairs.extend(self.scope.parameters.iter().filter(|(name, _)| !is_replaced(name)));
        pairs.extend(self.extra_parameters.iter().map(|(name, value)| (&**name, &**value)));
        endpoint.with_query(&form::write(pairs)).map_err(LoginStartError::Url)
    }

    /// Checks that neither the person's parameters nor the server's endpoint set what makes the login safe.
    fn check_parameters(&self, endpoint: &HttpUrl) -> Result<(), LoginStartError> {
        let extra = self.extra_parameters.iter().map(|(name, _)| name.clone());
        let own =
            form::read(endpoint.query().unwrap_or_default()).into_iter().map(|(name, _)| name);
        match extra.chain(own).find(|name| OURS.contains(&name.as_str())) {
            Some(name) => Err(LoginStartError::ReservedParameter(name)),
            None => Ok(()),
        }
    }
}

/// Why a login cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginStartError {
    /// The server has no endpoint for a login by a browser.
    #[error("the authorization server has no `authorization_endpoint`")]
    NoEndpoint,
    /// The client is another issuer's.
    #[error("the client cannot be used")]
    OtherIssuer(#[from] OtherIssuer),
    /// The parameter may only be set by us.
    #[error("the parameter `{0}` is part of every login and cannot be added")]
    ReservedParameter(String),
    /// The URL that was made must not be used.
    #[error("the authorization URL cannot be used")]
    Url(#[source] AddressError),
}

const OURS: [&str; 9] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "resource",
    "dpop_jkt",
];
