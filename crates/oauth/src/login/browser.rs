//! A login by a browser on this machine: the authorization code flow.

use ridethrough_oauth_core::client::{Client, ClientKind, DeadClient};
use ridethrough_oauth_core::discovery::Found;
use ridethrough_oauth_core::login::{
    AuthorizationCode, CallbackOutcome, LoginRandom, LoginRequest, PendingLogin, Preflight,
};
use ridethrough_oauth_core::scope::ScopeRequest;
use ridethrough_oauth_core::store::GrantRecord;
use ridethrough_oauth_core::token_answer::TokenError;
use ridethrough_oauth_core::{Fetched, HttpUrl};

use super::{Granted, Login};
use crate::clock;
use crate::dpop::DpopKey;
use crate::error::LoginFailure;
use crate::listener::CallbackListener;
use crate::person::{LoginPrompt, Person};

impl Login {
    /// Logs in by a browser. A client that the server has forgotten is registered again, once.
    pub(super) async fn by_browser(
        &self,
        found: &Found,
        person: &dyn Person,
    ) -> Result<GrantRecord, LoginFailure> {
        let listener = match &self.context.callback_url {
            Some(url) => CallbackListener::at(url.clone()),
            None => {
                let port = self.usual_port();
                let bound = CallbackListener::bind(&self.context.oauth.redirect, port).await;
                bound.map_err(LoginFailure::Listener)?
            }
        };
        let uris = listener.redirect_uris().to_vec();
        let scope = self.scope_request(found);
        let client = self.client(found, &scope.scopes, uris.clone()).await?;
        let key = self.dpop_key(found)?;
        let attempt =
            Attempt { login: self, found, scope: &scope, listener: &listener, person, key };
        let is_known = self.recorded.as_ref().is_some_and(|record| record.client.id == client.id);
        let may_be_dead = is_known && client.when_dead() == DeadClient::RegisterAgainOnce;
        // A demand for more scope shows that the client is in use, so it is not dead.
        let is_in_doubt = may_be_dead && self.scopes.is_none();
        if is_in_doubt && attempt.is_refused(&client).await? {
            let client = self.new_client(found, &scope.scopes, uris).await?;
            return attempt.run(client).await;
        }
        match attempt.run(client).await {
            Err(LoginFailure::Token(TokenError::ClientDead { .. })) if may_be_dead => {
                let client = self.new_client(found, &scope.scopes, uris).await?;
                attempt.run(client).await
            }
            done => done,
        }
    }

    /// Returns the port of the last registration: many servers compare it.
    fn usual_port(&self) -> Option<u16> {
        let client = &self.recorded.as_ref()?.client;
        let uri = client.redirect_uris.iter().filter(|_| client.kind == ClientKind::Dynamic);
        uri.filter_map(|uri| HttpUrl::parse(uri).ok()?.port()).next()
    }
}

/// One round trip through the browser.
struct Attempt<'a> {
    login: &'a Login,
    found: &'a Found,
    scope: &'a ScopeRequest,
    listener: &'a CallbackListener,
    person: &'a dyn Person,
    /// The key that the tokens will be bound to; the code is, too.
    key: Option<DpopKey>,
}

impl Attempt<'_> {
    async fn run(&self, client: Client) -> Result<GrantRecord, LoginFailure> {
        let mut pending = self.begin(&client)?;
        self.person.show(&self.prompt(&pending)).await;
        let within = self.login.context.oauth.login_within;
        let code = match self.listener.wait(&mut pending, self.person, within).await? {
            CallbackOutcome::Code(code) => code,
            CallbackOutcome::Failed(error) => return Err(error.into()),
            CallbackOutcome::Ignored(_) => return Err(LoginFailure::NotFinished(within)),
        };
        self.exchange(client, &code).await
    }

    fn begin(&self, client: &Client) -> Result<PendingLogin, LoginFailure> {
        let uris = self.listener.redirect_uris();
        let is_registered =
            |uri: &&HttpUrl| client.redirect_uris.iter().any(|it| it == uri.as_str());
        let redirect_uri = uris.iter().find(is_registered).or(uris.first());
        let thumbprint = self.key.as_ref().map(DpopKey::thumbprint);
        let request = LoginRequest {
            server: &self.found.server,
            client,
            redirect_uri: redirect_uri.expect("the settings were checked, so that there is a URI"),
            scope: self.scope,
            resource: self.found.resource.as_deref(),
            key_thumbprint: thumbprint.as_deref(),
            extra_parameters: &self.login.context.oauth.authorize_parameters,
        };
        let random = LoginRandom { state: clock::random(), verifier: clock::random() };
        Ok(request.begin(&random)?)
    }

    /// Whether the server shows people an error page instead of a login. The login of this request is used
    /// for nothing else.
    async fn is_refused(&self, client: &Client) -> Result<bool, LoginFailure> {
        let pending = self.begin(client)?;
        let Ok(url) = HttpUrl::parse(pending.url()) else { return Ok(false) };
        Ok(match self.login.context.fetch.get(&url).await {
            Fetched::Answer(answer) => Preflight::read(&answer) == Preflight::ClientDead,
            Fetched::Failure(_) => false,
        })
    }

    fn prompt(&self, pending: &PendingLogin) -> LoginPrompt {
        let host = HttpUrl::parse(pending.url()).map(|url| url.host().to_owned());
        LoginPrompt {
            url: pending.url().to_owned(),
            user_code: None,
            issuer_host: host.unwrap_or_default(),
            server: self.login.context.account.server_url.clone(),
            scopes: pending.scopes().clone(),
        }
    }

    async fn exchange(
        &self,
        client: Client,
        code: &AuthorizationCode,
    ) -> Result<GrantRecord, LoginFailure> {
        let requests = self.login.context.requests(&self.found.server, &client)?;
        let request = requests.authorization_code(code)?;
        let (found, scopes) = (self.found.clone(), code.scopes().clone());
        let key = self.key.clone();
        self.login.complete(Granted { found, client, scopes, key }, request).await
    }
}
