//! The outlook of a login, found out without a person and without registering anything.

use ridethrough_oauth_core::client::ClientKind;
use ridethrough_oauth_core::discovery::{
    Discovery, DiscoveryError, DiscoverySettings, Found, Step,
};
use ridethrough_oauth_core::registration::ClientChoice;
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::{Fetched, HttpUrl};

use super::Login;

/// What a login at a server would do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoginOutlook {
    /// Every URL that was asked, in order, and its outcome: a status, or why there is no answer.
    pub asked: Vec<(String, String)>,
    /// The authorization server, or why there is none to log in at.
    pub found: Result<Found, DiscoveryError>,
    /// The scopes that would be asked for.
    pub scopes: ScopeSet,
    /// How this program would be known there; `None` if no authorization server was found.
    pub client: Option<ClientOutlook>,
}

/// How a program would become known to an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientOutlook {
    /// It is known already: it was registered before, by itself or by hand, or has the URL of its metadata.
    Known(ClientKind),
    /// A person has to register it.
    Needed,
    /// The client of the settings belongs to another issuer; this is why it is not used.
    OtherIssuer(String),
    /// It would register itself.
    Registers,
}

impl Login {
    pub(crate) async fn outlook(&self) -> LoginOutlook {
        let mut asked = Vec::new();
        let found = self.find_telling(&mut asked).await;
        let scopes = found.as_ref().map(|found| self.scope_request(found).scopes);
        let scopes = scopes.unwrap_or_default();
        let client = found.as_ref().ok().map(|found| self.client_outlook(found, &scopes));
        LoginOutlook { asked, found, scopes, client }
    }

    async fn find_telling(
        &self,
        asked: &mut Vec<(String, String)>,
    ) -> Result<Found, DiscoveryError> {
        let oauth = &self.context.oauth;
        let issuer = self.recorded.as_ref().map(|record| record.endpoints.issuer().to_owned());
        let settings = DiscoverySettings {
            resource: oauth.resource.clone(),
            trusted_issuer: oauth.trusted_issuer.clone(),
            recorded_issuer: issuer,
            pkce: self.context.pkce(),
            near_hosts: oauth.near_hosts,
        };
        let server = self.context.server.clone();
        let mut discovery = Discovery::new(server, &self.challenges, settings);
        loop {
            let url = match discovery.step() {
                Step::Failed(error) => return Err(error.clone()),
                Step::Found(found) => return Ok(self.context.with_token_endpoint(found.clone())),
                Step::Get(url) => url.clone(),
            };
            let fetched = self.context.fetch.get(&url).await;
            asked.push((HttpUrl::without_query(&url).to_owned(), told(&fetched)));
            discovery.handle(&url, &fetched);
        }
    }

    fn client_outlook(&self, found: &Found, scopes: &ScopeSet) -> ClientOutlook {
        // The port is not known yet; one that was registered is used again if it is free.
        let recorded = self.recorded.iter().flat_map(|record| &record.client.redirect_uris);
        let uris = recorded.filter_map(|uri| HttpUrl::parse(uri).ok()).collect();
        match self.choice(self.sources(found), found, scopes, uris) {
            Err(other) => ClientOutlook::OtherIssuer(other.to_string()),
            Ok(ClientChoice::AskPerson) => ClientOutlook::Needed,
            Ok(ClientChoice::Register(_)) => ClientOutlook::Registers,
            Ok(ClientChoice::Use(client)) => ClientOutlook::Known(client.kind),
        }
    }
}

fn told(fetched: &Fetched) -> String {
    match fetched {
        Fetched::Answer(answer) => answer.status.as_u16().to_string(),
        Fetched::Failure(why) => why.clone(),
    }
}
