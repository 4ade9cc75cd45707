//! The identity provider of an enterprise, which vouches for its people to MCP servers.

use std::fmt;
use std::sync::Arc;

use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::{HttpUrl, Secret};

use crate::error::SettingsError;
use crate::key::AssertionSource;

/// The identity provider of an enterprise (ID-JAG). It exchanges a person's identity token for an assertion
/// to the authorization server of an MCP server, so that the person logs in once for all servers.
///
/// ```
/// use ridethrough_oauth::{IdentityProvider, OAuth, Secret};
///
/// # async fn id_token() -> Result<Secret, String> { Err(String::new()) }
/// let provider = IdentityProvider::new("https://idp.example", "my-app-at-the-idp", id_token);
/// let oauth = OAuth::enterprise_managed("my-app-at-the-server", provider);
/// ```
#[derive(Clone)]
#[must_use]
pub struct IdentityProvider {
    issuer: String,
    client: Client,
    pub(crate) id_token: AssertionSource,
}

impl IdentityProvider {
    /// Creates the provider with this issuer, at which this client is registered.
    ///
    /// `id_token` returns the identity token of the person's login at the provider. It is called for each
    /// exchange, and the token is sent to the provider's token endpoint only. Its error is reported to the
    /// call that needs a token.
    pub fn new<F>(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        id_token: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Secret, String>> + Send + 'static,
    {
        let issuer = issuer.into();
        Self {
            client: Client::preregistered(client_id, None),
            issuer,
            id_token: Arc::new(move || Box::pin(id_token())),
        }
    }

    /// Sets the secret of the client at the provider.
    pub fn client_secret(mut self, secret: Secret) -> Self {
        self.client.secret = Some(secret);
        self
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn issuer(&self) -> Result<HttpUrl, SettingsError> {
        HttpUrl::parse(&self.issuer).map_err(|source| SettingsError::IdentityProvider {
            issuer: self.issuer.clone(),
            source,
        })
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProvider")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client.id)
            .finish_non_exhaustive()
    }
}
