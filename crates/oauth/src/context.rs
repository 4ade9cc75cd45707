//! The context of every step of a login and of a refresh: checked settings, the network and the store.

use std::sync::Arc;

use ridethrough::ClientBuilder;
use ridethrough_oauth_core::address::HostKind;
use ridethrough_oauth_core::client::{AuthMethod, Client};
use ridethrough_oauth_core::discovery::{Found, PkceRule};
use ridethrough_oauth_core::metadata::AuthorizationServer;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};
use ridethrough_oauth_core::token_answer::{self, TokenError};
use ridethrough_oauth_core::token_request::{ClientAuthentication, TokenRequest, TokenRequests};
use ridethrough_oauth_core::tokens::Tokens;
use ridethrough_oauth_core::{AddressError, Fetched, HttpUrl, Timestamp};

use crate::dpop::{DpopKey, DpopNonces, ProofRequest};
use crate::error::{LoginFailure, SettingsError};
use crate::fetch::Fetch;
use crate::key::ClientKey;
use crate::settings::{Flow, OAuth, RedirectTo};
use crate::store::{FileStore, GrantStore, SharedStore, StoreError, StoreLock, Swap};

/// The context of one account at one MCP server.
pub(crate) struct Context {
    pub(crate) oauth: OAuth,
    pub(crate) server: HttpUrl,
    pub(crate) account: AccountKey,
    pub(crate) fetch: Fetch,
    /// Fetches from the identity provider of an enterprise. It is not bound to the MCP server's network,
    /// because that server does not decide where the provider is.
    pub(crate) provider_fetch: Option<Fetch>,
    /// The nonces that servers gave for proofs.
    pub(crate) nonces: Arc<DpopNonces>,
    pub(crate) store: Arc<dyn GrantStore>,
    /// The client that a person registered.
    pub(crate) preregistered: Option<Client>,
    /// The client whose id is a URL.
    pub(crate) metadata_document: Option<Client>,
    /// The token endpoint that a person vouches for.
    token_endpoint: Option<HttpUrl>,
    /// Where the program answers the browser itself.
    pub(crate) callback_url: Option<HttpUrl>,
}

impl Context {
    pub(crate) fn new(oauth: OAuth, client: &ClientBuilder) -> Result<Self, SettingsError> {
        let url = client.url().ok_or(SettingsError::LocalServer)?;
        let server = HttpUrl::parse(url).map_err(SettingsError::ServerUrl)?;
        check_redirect(&oauth.redirect)?;
        let token_endpoint = token_endpoint(&oauth, &server)?;
        let callback_url = oauth.callback_url.as_deref().map(callback_url).transpose()?;
        let metadata_document = oauth.client_metadata_url.as_deref().map(document).transpose()?;
        let store: Arc<dyn GrantStore> = match &oauth.store {
            Some(store) => store.clone(),
            None => Arc::new(FileStore::new()?),
        };
        let store = match &oauth.mcp_remote {
            Some(theirs) => Arc::new(SharedStore::new(store, theirs.clone())),
            None => store,
        };
        Ok(Self {
            account: AccountKey::new(&server, oauth.profile.clone()),
            fetch: Fetch::new(client.network(), server.clone(), oauth.near_hosts),
            provider_fetch: provider_fetch(&oauth, client)?,
            nonces: Arc::default(),
            preregistered: preregistered(&oauth),
            metadata_document,
            token_endpoint,
            callback_url,
            store,
            server,
            oauth,
        })
    }

    /// What was found, with the token endpoint that a person vouches for.
    pub(crate) fn with_token_endpoint(&self, mut found: Found) -> Found {
        if let Some(url) = &self.token_endpoint {
            found.server.token_endpoint = url.clone();
        }
        found
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.oauth.clock.now()
    }

    /// Whether new tokens need no person.
    pub(crate) const fn is_unattended(&self) -> bool {
        matches!(
            self.oauth.flow,
            Flow::ClientCredentials(_) | Flow::Enterprise(_) | Flow::WorkloadIdentity(_)
        )
    }

    /// Returns the rule for PKCE: only a browser brings a code that must be protected.
    pub(crate) const fn pkce(&self) -> PkceRule {
        match self.oauth.flow {
            Flow::Browser => self.oauth.pkce,
            Flow::ClientCredentials(_)
            | Flow::Device
            | Flow::Enterprise(_)
            | Flow::WorkloadIdentity(_) => PkceRule::NotNeeded,
        }
    }

    /// Returns the record of the account, if it belongs to the client of the settings.
    pub(crate) async fn load(&self) -> Result<Option<GrantRecord>, StoreError> {
        let record = self.store.load(&self.account).await?;
        let id = self.preregistered.as_ref().map(|client| &client.id);
        Ok(record.filter(|record| id.is_none_or(|id| *id == record.client.id)))
    }

    /// Stores a record in place of any other: a new login counts more than an old one.
    pub(crate) async fn save_login(&self, record: &GrantRecord) -> Result<(), StoreError> {
        let lock = self.store.lock(&self.account).await?;
        let found = self.store.load(&self.account).await.unwrap_or_default();
        self.replace(&lock, found, record).await
    }

    /// Stores a record in place of the one that was found, or of one that came in between.
    pub(crate) async fn replace(
        &self,
        lock: &StoreLock,
        found: Option<GrantRecord>,
        record: &GrantRecord,
    ) -> Result<(), StoreError> {
        let swap = self.store.compare_and_swap(lock, found.as_ref(), Some(record)).await?;
        let Swap::Conflict(other) = swap else { return Ok(()) };
        let swap = self.store.compare_and_swap(lock, other.as_deref(), Some(record)).await?;
        match swap {
            Swap::Done => Ok(()),
            Swap::Conflict(_) => Err(StoreError::Other("the record changes all the time".into())),
        }
    }

    /// Returns the requests of this client to this server.
    pub(crate) fn requests<'a>(
        &self,
        server: &'a AuthorizationServer,
        client: &'a Client,
    ) -> Result<TokenRequests<'a>, LoginFailure> {
        let authentication = match &self.oauth.flow {
            Flow::ClientCredentials(ClientKey::PrivateKey(key)) => {
                let assertion = key.assertion(&client.id, &server.issuer, self.now());
                ClientAuthentication::Assertion(assertion.map_err(|_| LoginFailure::Key)?)
            }
            _ => ClientAuthentication::Secret,
        };
        Ok(TokenRequests::new(server, client, authentication)?)
    }

    /// Posts a request, with a proof of this key if there is one. A request whose proof was refused only for
    /// its nonce is sent once more: the server did not look at what it carries (RFC 9449, 8).
    pub(crate) async fn post(&self, request: &TokenRequest, key: Option<&DpopKey>) -> Fetched {
        let Some(key) = key else { return self.fetch.post(request).await };
        let fetched = self.post_with_proof(request, key).await;
        let is_refused = |answer| {
            let read = token_answer::read(answer, request.asked(), self.now());
            matches!(read, Err(TokenError::UseDpopNonce(_)))
        };
        match &fetched {
            Fetched::Answer(answer) if is_refused(answer) => {
                self.post_with_proof(request, key).await
            }
            _ => fetched,
        }
    }

    async fn post_with_proof(&self, request: &TokenRequest, key: &DpopKey) -> Fetched {
        let proof = key.proof(&ProofRequest {
            method: "POST",
            url: request.url(),
            access_token: None,
            nonces: &self.nonces,
            clock: &self.oauth.clock,
        });
        let request = match proof {
            Some(proof) => request.clone().with_dpop(proof),
            None => request.clone(),
        };
        let fetched = self.fetch.post(&request).await;
        if let Fetched::Answer(answer) = &fetched {
            self.nonces.keep(request.url().origin(), answer.dpop_nonce.as_deref());
        }
        fetched
    }

    /// Asks for tokens, once.
    pub(crate) async fn tokens(
        &self,
        request: &TokenRequest,
        key: Option<&DpopKey>,
    ) -> Result<Tokens, LoginFailure> {
        // The lifetime counts from the request, so that a slow answer does not extend it.
        let sent_at = self.now();
        match self.post(request, key).await {
            Fetched::Answer(answer) => {
                let tokens = token_answer::read(&answer, request.asked(), sent_at)?;
                as_sent(tokens, self.oauth.uses_id_token).ok_or(LoginFailure::NoIdToken)
            }
            Fetched::Failure(why) => {
                Err(LoginFailure::NoAnswer { url: request.url().to_string(), why })
            }
        }
    }
}

/// Returns the tokens as requests are sent with them; `None` if the identity token is wanted and there is
/// none.
pub(crate) fn as_sent(tokens: Tokens, sends_id_token: bool) -> Option<Tokens> {
    if sends_id_token { tokens.with_id_token_as_access() } else { Some(tokens) }
}

fn preregistered(oauth: &OAuth) -> Option<Client> {
    let id = oauth.client_id.clone()?;
    Some(match &oauth.flow {
        Flow::ClientCredentials(ClientKey::Secret(secret)) => {
            Client::preregistered(id, Some(secret.clone()))
        }
        Flow::ClientCredentials(ClientKey::PrivateKey(_)) => {
            Client::preregistered(id, None).with_method(AuthMethod::PrivateKeyJwt)
        }
        Flow::Browser | Flow::Device | Flow::Enterprise(_) | Flow::WorkloadIdentity(_) => {
            Client::preregistered(id, oauth.client_secret.clone())
        }
    })
}

fn provider_fetch(oauth: &OAuth, client: &ClientBuilder) -> Result<Option<Fetch>, SettingsError> {
    let Flow::Enterprise(provider) = &oauth.flow else { return Ok(None) };
    Ok(Some(Fetch::new(client.network(), provider.issuer()?, oauth.near_hosts)))
}

fn document(url: &str) -> Result<Client, SettingsError> {
    let fault = |source| SettingsError::ClientMetadataUrl { url: url.to_owned(), source };
    let url = HttpUrl::parse(url).map_err(fault)?;
    Client::metadata_document(&url).map_err(fault)
}

/// A person may vouch for any place, but not for everybody on the way there.
fn token_endpoint(oauth: &OAuth, server: &HttpUrl) -> Result<Option<HttpUrl>, SettingsError> {
    let Some(text) = &oauth.token_endpoint else { return Ok(None) };
    let checked = HttpUrl::parse(text).and_then(|url| {
        url.check_endpoint_of(server, oauth.near_hosts)?;
        let is_private =
            url.as_str().starts_with("https:") || url.host_kind() == HostKind::Loopback;
        if is_private { Ok(url) } else { Err(AddressError::PlainHttp) }
    });
    checked.map(Some).map_err(SettingsError::TokenEndpoint)
}

/// A code must not pass through other hands on its way to this program.
fn callback_url(text: &str) -> Result<HttpUrl, SettingsError> {
    let fault = || SettingsError::CallbackUrl(text.to_owned());
    let url = HttpUrl::parse(text).map_err(|_| fault())?;
    let is_private = url.as_str().starts_with("https:") || url.host_kind() == HostKind::Loopback;
    let is_bare = url.query().is_none() && !text.contains('#');
    if is_private && is_bare { Ok(url) } else { Err(fault()) }
}

fn check_redirect(to: &RedirectTo) -> Result<(), SettingsError> {
    if !["127.0.0.1", "localhost"].contains(&to.host.as_str()) {
        return Err(SettingsError::RedirectHost(to.host.clone()));
    }
    let url = HttpUrl::parse(&format!("http://{}:1{}", to.host, to.path));
    let is_path = to.path.starts_with('/') && url.is_ok_and(|url| url.path() == to.path);
    if is_path { Ok(()) } else { Err(SettingsError::RedirectPath(to.path.clone())) }
}
