//! Performs a login by an assertion of an enterprise's identity provider (ID-JAG).

use ridethrough_oauth_core::discovery::{Discovery, Found};
use ridethrough_oauth_core::store::GrantRecord;
use ridethrough_oauth_core::token_request::{ClientAuthentication, IdJagExchange, TokenRequests};
use ridethrough_oauth_core::{Fetched, Secret, token_answer};

use super::{Login, find};
use crate::error::LoginFailure;
use crate::identity_provider::IdentityProvider;

impl Login {
    /// Exchanges the person's identity token at the provider, and the provider's assertion at the
    /// authorization server of the MCP server.
    pub(super) async fn by_enterprise(
        &self,
        found: Found,
        provider: &IdentityProvider,
    ) -> Result<GrantRecord, LoginFailure> {
        let assertion = self.id_jag(&found, provider).await?;
        self.by_assertion(found, &assertion).await
    }

    async fn id_jag(
        &self,
        found: &Found,
        provider: &IdentityProvider,
    ) -> Result<Secret, LoginFailure> {
        let fetch = self.context.provider_fetch.as_ref();
        let fetch = fetch.expect("a context with a provider has a way to it");
        let issuer =
            provider.issuer().map_err(|error| LoginFailure::Assertion(error.to_string()))?;
        let server = find::follow(fetch, Discovery::of_issuer(issuer)).await?.server;
        let id_token = (provider.id_token)().await.map_err(LoginFailure::Assertion)?;
        let requests =
            TokenRequests::new(&server, provider.client(), ClientAuthentication::Secret)?;
        let scopes = self.scope_request(found).scopes;
        let resource = found.resource.as_deref().unwrap_or(&self.context.account.server_url);
        let audience = &found.server.issuer;
        let request = requests.id_jag(IdJagExchange {
            id_token: &id_token,
            audience,
            resource,
            scopes: &scopes,
        });
        match fetch.post(&request).await {
            Fetched::Answer(answer) => Ok(token_answer::read_id_jag(&answer, self.context.now())?),
            Fetched::Failure(why) => {
                Err(LoginFailure::NoAnswer { url: request.url().to_string(), why })
            }
        }
    }
}
