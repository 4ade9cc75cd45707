//! A login from end to end: finds the authorization server, becomes its client, gets tokens, stores them.

mod browser;
mod client;
mod device;
mod enterprise;
mod find;
mod outlook;
mod take_over;

use std::sync::Arc;

use ridethrough_oauth_core::Secret;
use ridethrough_oauth_core::address::NearHosts;
use ridethrough_oauth_core::challenge::{Challenges, Scheme};
use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::discovery::Found;
use ridethrough_oauth_core::dpop::DpopFacts;
use ridethrough_oauth_core::grant::LoginReason;
use ridethrough_oauth_core::scope::{ScopeRequest, ScopeSet, ScopeSources};
use ridethrough_oauth_core::store::{GrantKey, GrantRecord};
use ridethrough_oauth_core::token_request::TokenRequest;
use ridethrough_oauth_core::tokens::Tokens;

use crate::context::Context;
use crate::dpop::DpopKey;
use crate::error::LoginFailure;
use crate::person::Person;
use crate::settings::Flow;

pub(crate) use find::find;
pub use outlook::{ClientOutlook, LoginOutlook};
pub(crate) use take_over::take_over;

/// The start of a login.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) context: Arc<Context>,
    /// The challenges of the MCP server.
    pub(crate) challenges: Challenges,
    /// All scopes to ask for, after a demand for more.
    pub(crate) scopes: Option<ScopeSet>,
    /// The record of the last login.
    pub(crate) recorded: Option<GrantRecord>,
    /// What began the login.
    pub(crate) begun_by: BegunBy,
}

/// What began a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BegunBy {
    /// A call needs it: an authorization server that has changed gets nothing that it did not issue.
    Call,
    /// A person began it, and accepts the server as it is now.
    Person,
}

impl Login {
    /// Gets tokens and stores them.
    pub(crate) async fn run(
        &self,
        person: Option<&dyn Person>,
    ) -> Result<GrantRecord, LoginFailure> {
        let issuer = self.recorded.as_ref().map(|record| record.endpoints.issuer().to_owned());
        let found = find(&self.context, &self.challenges, issuer).await?;
        self.check_endpoints(&found)?;
        match (&self.context.oauth.flow, person) {
            (Flow::Browser, Some(person)) => self.by_browser(&found, person).await,
            (Flow::ClientCredentials(_), _) => self.by_client_credentials(found).await,
            (Flow::Device, Some(person)) => self.by_device(&found, person).await,
            (Flow::Enterprise(provider), _) => self.by_enterprise(found, provider).await,
            (Flow::WorkloadIdentity(source), _) => {
                let assertion = source().await.map_err(LoginFailure::Assertion)?;
                self.by_assertion(found, &assertion).await
            }
            (Flow::Browser | Flow::Device, None) => Err(LoginFailure::Needed(LoginReason::NoGrant)),
        }
    }

    /// Checks that no endpoint has moved: an issuer of this name with an endpoint elsewhere may be an
    /// impostor.
    fn check_endpoints(&self, found: &Found) -> Result<(), LoginFailure> {
        let same = self.recorded.as_ref().filter(|it| it.endpoints.issuer() == found.server.issuer);
        match (same, self.begun_by) {
            (Some(record), BegunBy::Call) => Ok(record.endpoints.check(&found.server)?),
            _ => Ok(()),
        }
    }

    async fn by_client_credentials(&self, found: Found) -> Result<GrantRecord, LoginFailure> {
        let scopes = self.scope_request(&found).scopes;
        let client = self.client(&found, &scopes, Vec::new()).await?;
        let requests = self.context.requests(&found.server, &client)?;
        let request = requests.for_resource(found.resource.as_deref()).client_credentials(&scopes);
        let key = self.dpop_key(&found)?;
        self.complete(Granted { found, client, scopes, key }, request).await
    }

    async fn by_assertion(
        &self,
        found: Found,
        assertion: &Secret,
    ) -> Result<GrantRecord, LoginFailure> {
        let scopes = self.scope_request(&found).scopes;
        let client = self.client(&found, &scopes, Vec::new()).await?;
        let requests = self.context.requests(&found.server, &client)?;
        let requests = requests.for_resource(found.resource.as_deref());
        let request = requests.jwt_bearer(assertion, &scopes);
        let key = self.dpop_key(&found)?;
        self.complete(Granted { found, client, scopes, key }, request).await
    }

    /// Returns a new key for the tokens of this login, if they are to be bound to one.
    fn dpop_key(&self, found: &Found) -> Result<Option<DpopKey>, LoginFailure> {
        let facts = DpopFacts {
            is_challenged: self.challenges.has_scheme(Scheme::Dpop),
            takes_bearer: self.challenges.has_scheme(Scheme::Bearer),
            is_required: found.metadata.as_ref().is_some_and(|it| it.requires_dpop),
            algorithms: found.server.dpop_signing_alg_values_supported.as_deref(),
        };
        let is_wanted = self.context.oauth.dpop.is_wanted(facts);
        is_wanted.then(DpopKey::generate).transpose()
    }

    fn scope_request(&self, found: &Found) -> ScopeRequest {
        if let Some(scopes) = &self.scopes {
            return ScopeRequest::for_scopes(scopes.clone(), &found.server);
        }
        let sources = ScopeSources {
            configured: self.context.oauth.scopes.as_ref(),
            challenge: self.challenges.scope(),
            resource: found.scopes(),
        };
        ScopeRequest::choose(sources, &found.server)
    }

    /// Exchanges what was granted for tokens and stores them, even if the caller stops waiting: a code is
    /// good for one exchange only.
    async fn complete(
        &self,
        granted: Granted,
        request: TokenRequest,
    ) -> Result<GrantRecord, LoginFailure> {
        let login = self.clone();
        let completing = tokio::spawn(async move {
            let tokens = login.context.tokens(&request, granted.key.as_ref()).await?;
            login.keep(granted, tokens).await
        });
        completing.await.unwrap_or_else(|error| {
            let why =
                if error.is_panic() { "a fault in this program" } else { "the runtime ended" };
            Err(LoginFailure::NoAnswer {
                url: "the token endpoint".to_owned(),
                why: why.to_owned(),
            })
        })
    }
}

/// The result of a login without the tokens.
struct Granted {
    found: Found,
    client: Client,
    scopes: ScopeSet,
    key: Option<DpopKey>,
}

impl Login {
    async fn keep(&self, granted: Granted, tokens: Tokens) -> Result<GrantRecord, LoginFailure> {
        let context = &self.context;
        let Granted { found, client, scopes, key } = granted;
        let issuer = found.server.issuer.clone();
        let grant = GrantKey {
            resource: found.resource.clone().unwrap_or_else(|| context.account.server_url.clone()),
            issuer: issuer.clone(),
            client_id: client.id.clone(),
            profile: context.account.profile.clone(),
        };
        let client = client.of_issuer(issuer);
        let mut record =
            GrantRecord::new(grant, &context.account.server_url, client, &found.server);
        record.resource_parameter = found.resource;
        record.requested = scopes;
        record.tokens = Some(tokens);
        // A process that renews the login later does not have these settings.
        record.sends_id_token = context.oauth.uses_id_token;
        record.allows_near_hosts = context.oauth.near_hosts == NearHosts::Allowed;
        record.dpop_key = key.map(|key| key.stored()).transpose()?;
        if let Some(other) = self.overtaken_by(record.endpoints.issuer()).await {
            return Ok(other);
        }
        context.save_login(&record).await?;
        Ok(record)
    }

    /// Returns a login that another process has made meanwhile at another issuer, if the server names that
    /// one: a login that began before the server moved must not put everybody back.
    async fn overtaken_by(&self, issuer: &str) -> Option<GrantRecord> {
        let stored = self.context.load().await.ok()??;
        let other = stored.endpoints.issuer().to_owned();
        let is_known =
            self.recorded.as_ref().is_some_and(|record| record.endpoints.issuer() == other);
        if self.begun_by == BegunBy::Person || other == issuer || is_known {
            return None;
        }
        let found = find(&self.context, &self.challenges, Some(other.clone())).await.ok()?;
        (found.server.issuer == other && stored.tokens.is_some()).then_some(stored)
    }
}
