//! Performs the registration of a client.

use ridethrough_oauth_core::client::{Client, ClientKind, OtherIssuer};
use ridethrough_oauth_core::discovery::Found;
use ridethrough_oauth_core::registration::{
    ClientChoice, ClientDescription, ClientSources, LoginWay, Registration, RegistrationOutcome,
};
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::{Fetched, HttpUrl};

use super::{BegunBy, Login};
use crate::error::LoginFailure;
use crate::settings::Flow;

impl Login {
    /// Returns our client at this server, registered if need be.
    pub(super) async fn client(
        &self,
        found: &Found,
        scopes: &ScopeSet,
        redirect_uris: Vec<HttpUrl>,
    ) -> Result<Client, LoginFailure> {
        self.client_of(self.sources(found), found, scopes, redirect_uris).await
    }

    /// Registers a new client, after the server has forgotten the old one.
    pub(super) async fn new_client(
        &self,
        found: &Found,
        scopes: &ScopeSet,
        redirect_uris: Vec<HttpUrl>,
    ) -> Result<Client, LoginFailure> {
        let sources = ClientSources { recorded: None, ..self.sources(found) };
        self.client_of(sources, found, scopes, redirect_uris).await
    }

    async fn client_of(
        &self,
        sources: ClientSources,
        found: &Found,
        scopes: &ScopeSet,
        redirect_uris: Vec<HttpUrl>,
    ) -> Result<Client, LoginFailure> {
        match self.choice(sources, found, scopes, redirect_uris)? {
            ClientChoice::AskPerson => {
                Err(LoginFailure::ClientIdNeeded { issuer: found.server.issuer.clone() })
            }
            ClientChoice::Register(registration) => self.register(registration).await,
            ClientChoice::Use(client) => Ok(client),
        }
    }

    fn login_way(&self) -> LoginWay {
        match self.context.oauth.flow {
            Flow::Device => LoginWay::Device,
            _ => LoginWay::Browser,
        }
    }

    pub(super) fn choice(
        &self,
        sources: ClientSources,
        found: &Found,
        scopes: &ScopeSet,
        redirect_uris: Vec<HttpUrl>,
    ) -> Result<ClientChoice, OtherIssuer> {
        let (name, scopes) = (self.context.oauth.name.clone(), scopes.clone());
        let description =
            ClientDescription { name, redirect_uris, scopes, login: self.login_way() };
        ClientChoice::choose(sources, description, &found.server, self.context.now())
    }

    pub(super) fn sources(&self, found: &Found) -> ClientSources {
        let recorded = self.recorded.as_ref();
        // A server that has changed does not get a client that it did not issue.
        let is_unchanged = |record: &&_| {
            let record: &ridethrough_oauth_core::store::GrantRecord = record;
            record.endpoints.check(&found.server).is_ok()
        };
        let own = recorded.filter(|record| record.client.kind == ClientKind::Dynamic);
        let own = own.filter(|_| !self.context.oauth.registers_anew);
        ClientSources {
            preregistered: self.preregistered(),
            metadata_document: self.context.metadata_document.clone(),
            recorded: own.filter(is_unchanged).map(|record| record.client.clone()),
        }
    }

    /// Returns the client that a person registered. It belongs to the issuer of the last login, until the
    /// person logs in elsewhere.
    fn preregistered(&self) -> Option<Client> {
        let client = self.context.preregistered.clone()?;
        let last = self.recorded.as_ref().filter(|record| record.client.id == client.id);
        match (last, self.begun_by) {
            (Some(record), BegunBy::Call) => Some(client.of_issuer(record.endpoints.issuer())),
            _ => Some(client),
        }
    }

    async fn register(&self, mut registration: Registration) -> Result<Client, LoginFailure> {
        loop {
            let fetched =
                self.context.fetch.post_json(registration.url(), registration.body()).await;
            let answer = match fetched {
                Fetched::Answer(answer) => answer,
                Fetched::Failure(why) => {
                    return Err(LoginFailure::NoAnswer {
                        url: registration.url().to_string(),
                        why,
                    });
                }
            };
            match registration.handle(&answer) {
                RegistrationOutcome::AgainWithoutScope => {}
                RegistrationOutcome::Failed(error) => return Err(error.into()),
                RegistrationOutcome::Registered(client) => return Ok(*client),
            }
        }
    }
}
