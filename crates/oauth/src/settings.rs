//! The settings of a login.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ridethrough_oauth_core::address::NearHosts;
use ridethrough_oauth_core::discovery::{PkceRule, ResourceParameter};
use ridethrough_oauth_core::dpop::DpopRule;
use ridethrough_oauth_core::grant::LoginReason;
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::{Secret, Timestamp};

use crate::clock::Clock;
use crate::identity_provider::IdentityProvider;
use crate::key::{AssertionSource, ClientKey};
use crate::person::Person;
use crate::store::{GrantStore, McpRemoteStore};

/// The settings by which a client logs in.
///
/// ```
/// use ridethrough_oauth::person::Terminal;
/// use ridethrough_oauth::{OAuth, RedirectTo};
///
/// let oauth = OAuth::new("my app")
///     .client_id("registered-by-hand")
///     .scopes(["files:read"])
///     .redirect(RedirectTo { port: Some(8765), ..RedirectTo::default() })
///     .person(Terminal::new());
/// ```
#[derive(Clone)]
#[must_use]
pub struct OAuth {
    pub(crate) flow: Flow,
    pub(crate) name: String,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) scopes: Option<ScopeSet>,
    pub(crate) profile: String,
    pub(crate) redirect: RedirectTo,
    pub(crate) callback_url: Option<String>,
    pub(crate) resource: ResourceParameter,
    pub(crate) trusted_issuer: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) pkce: PkceRule,
    pub(crate) dpop: DpopRule,
    pub(crate) near_hosts: NearHosts,
    pub(crate) authorize_parameters: Vec<(String, String)>,
    pub(crate) uses_id_token: bool,
    pub(crate) registers_anew: bool,
    pub(crate) login_within: Duration,
    pub(crate) store: Option<Arc<dyn GrantStore>>,
    pub(crate) mcp_remote: Option<McpRemoteStore>,
    pub(crate) person: Option<Arc<dyn Person>>,
    pub(crate) on_login_needed: Option<OnLoginNeeded>,
    pub(crate) clock: Clock,
}

pub(crate) type OnLoginNeeded = Arc<dyn Fn(&LoginReason) + Send + Sync>;

/// The way to get tokens.
#[derive(Clone)]
pub(crate) enum Flow {
    /// A person logs in by a browser on this machine.
    Browser,
    /// The client authenticates with its key; there is no person.
    ClientCredentials(ClientKey),
    /// A person logs in on another device.
    Device,
    /// The identity provider of an enterprise vouches for the person, who has logged in there.
    Enterprise(IdentityProvider),
    /// The platform that runs the client vouches for it; there is no person.
    WorkloadIdentity(AssertionSource),
}

/// Where the browser is sent back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectTo {
    /// `127.0.0.1` or `localhost`; the listener is on this machine in either case. The default is
    /// `127.0.0.1`, which can never name another machine.
    pub host: String,
    /// The port. `None` means the one of the last registration if it is free, else any. A port that is set
    /// must be free: many servers compare it.
    pub port: Option<u16>,
    /// The path; by default `/callback`.
    pub path: String,
}

impl Default for RedirectTo {
    fn default() -> Self {
        Self { host: "127.0.0.1".to_owned(), port: None, path: "/callback".to_owned() }
    }
}

impl OAuth {
    /// Creates a login by a browser. People read the name when they consent.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            flow: Flow::Browser,
            name: name.into(),
            client_id: None,
            client_secret: None,
            client_metadata_url: None,
            scopes: None,
            profile: String::new(),
            redirect: RedirectTo::default(),
            callback_url: None,
            resource: ResourceParameter::default(),
            trusted_issuer: None,
            token_endpoint: None,
            pkce: PkceRule::default(),
            dpop: DpopRule::default(),
            near_hosts: NearHosts::default(),
            authorize_parameters: Vec::new(),
            uses_id_token: false,
            registers_anew: false,
            login_within: LOGIN_WITHIN,
            store: None,
            mcp_remote: None,
            person: None,
            on_login_needed: None,
            clock: Clock::default(),
        }
    }

    /// Gets tokens for the client itself: no person logs in.
    ///
    /// ```
    /// use ridethrough_oauth::{ClientKey, OAuth, Secret};
    ///
    /// let oauth = OAuth::client_credentials("nightly-job", ClientKey::Secret(Secret::new("..")));
    /// ```
    pub fn client_credentials(id: impl Into<String>, key: ClientKey) -> Self {
        let id = id.into();
        Self { flow: Flow::ClientCredentials(key), ..Self::new(id.clone()).client_id(id) }
    }

    /// Gets tokens by an assertion of the platform that runs the client (RFC 7523): no person logs in.
    ///
    /// The assertion is a JWT that the platform signs, such as a projected service account token. It is read
    /// anew for each request, and sent to the token endpoint only. An error is reported to the call that
    /// needs a token.
    ///
    /// ```
    /// use ridethrough_oauth::{OAuth, Secret};
    ///
    /// let oauth = OAuth::workload_identity("nightly-job", || async {
    ///     let read = std::fs::read_to_string("/var/run/secrets/tokens/mcp");
    ///     read.map(|token| Secret::new(token.trim())).map_err(|error| error.to_string())
    /// });
    /// ```
    pub fn workload_identity<F>(
        id: impl Into<String>,
        assertion: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Secret, String>> + Send + 'static,
    {
        let id = id.into();
        let source: AssertionSource = Arc::new(move || Box::pin(assertion()));
        Self { flow: Flow::WorkloadIdentity(source), ..Self::new(id.clone()).client_id(id) }
    }

    /// Gets tokens by an assertion of an enterprise's identity provider (ID-JAG): the person has logged in
    /// there, and logs in nowhere else. `id` is that of the client at the authorization server of the MCP
    /// server; set its secret by [`client_secret`](Self::client_secret).
    pub fn enterprise_managed(id: impl Into<String>, provider: IdentityProvider) -> Self {
        let id = id.into();
        Self { flow: Flow::Enterprise(provider), ..Self::new(id.clone()).client_id(id) }
    }

    /// Sets the client that a person registered at the authorization server.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// Sets the secret of the client that a person registered.
    pub fn client_secret(mut self, secret: Secret) -> Self {
        self.client_secret = Some(secret);
        self
    }

    /// Sets the URL at which the client's metadata is published: it is the client's id at servers that read
    /// such documents. At other servers the client registers itself.
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// Registers a new client although an earlier one is known, for servers that have forgotten it and do not
    /// say so.
    pub const fn new_client(mut self) -> Self {
        self.registers_anew = true;
        self
    }

    /// Asks for exactly these scopes instead of those that the server names.
    pub fn scopes<'a>(mut self, scopes: impl IntoIterator<Item = &'a str>) -> Self {
        self.scopes = Some(scopes.into_iter().collect());
        self
    }

    /// Sets the person's name for one of several accounts at the server.
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.profile = name.into();
        self
    }

    /// Sets where the browser is sent back to.
    pub fn redirect(mut self, to: RedirectTo) -> Self {
        self.redirect = to;
        self
    }

    /// Sends the browser back to this URL of the program's own, instead of a port that is opened for the login.
    ///
    /// The program answers there, and hands the whole URL of the request to the login by
    /// [`Person::pasted`](crate::person::Person::pasted), which checks it as any callback.
    pub fn callback_url(mut self, url: impl Into<String>) -> Self {
        self.callback_url = Some(url.into());
        self
    }

    /// Sets what is sent as `resource`: by default what the server's metadata says.
    pub fn resource(mut self, resource: ResourceParameter) -> Self {
        self.resource = resource;
        self
    }

    /// Accepts this issuer in a document although another one was looked for.
    pub fn trust_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.trusted_issuer = Some(issuer.into());
        self
    }

    /// Sends codes, refresh tokens and secrets to this token endpoint instead of the one that the issuer names.
    ///
    /// The caller vouches for it. It is kept with the login, which is renewed there. It must be encrypted, or on
    /// this machine.
    pub fn token_endpoint(mut self, url: impl Into<String>) -> Self {
        self.token_endpoint = Some(url.into());
        self
    }

    /// Assumes that the authorization server knows PKCE with S256 if its metadata does not mention PKCE.
    pub const fn assume_pkce(mut self) -> Self {
        self.pkce = PkceRule::Assumed;
        self
    }

    /// Sets when tokens are bound to a key, so that they are of no use to a thief (DPoP, RFC 9449): by
    /// default where the MCP server asks for it. The key is made for each login and stored with its tokens.
    pub const fn dpop(mut self, rule: DpopRule) -> Self {
        self.dpop = rule;
        self
    }

    /// Lets the server name an authorization server that is closer to this machine than itself, such as one
    /// in a private network.
    pub const fn allow_near_hosts(mut self) -> Self {
        self.near_hosts = NearHosts::Allowed;
        self
    }

    /// Adds a parameter to the authorization URL, such as `audience`.
    pub fn authorize_parameter(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.authorize_parameters.push((name.into(), value.into()));
        self
    }

    /// Sends requests with the identity token instead of the access token, until the identity token ends.
    pub const fn use_id_token(mut self) -> Self {
        self.uses_id_token = true;
        self
    }

    /// Logs in by a code that the person types in on another device, where no browser can come back.
    pub fn device(mut self) -> Self {
        self.flow = Flow::Device;
        self
    }

    /// Sets how long a person has for a login; by default 300 s.
    pub const fn login_within(mut self, time: Duration) -> Self {
        self.login_within = time;
        self
    }

    /// Sets where grants are kept; by default in files ([`FileStore::new`](crate::store::FileStore::new)).
    pub fn store(mut self, store: impl GrantStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Uses the login that a person has made with `mcp-remote`, if there is none of our own, and shares it
    /// for as long as it exists: renewed tokens are written into both stores, under both locks.
    pub fn mcp_remote(mut self, store: McpRemoteStore) -> Self {
        self.mcp_remote = Some(store);
        self
    }

    /// Sets the person who logs in. Without one a login is never begun, and calls that need it end with an
    /// error.
    pub fn person(mut self, person: impl Person) -> Self {
        self.person = Some(Arc::new(person));
        self
    }

    /// Sets the function that is called when a call finds that a person must log in and none is set: once,
    /// however many calls find it, until there is another token or another reason.
    pub fn on_login_needed(mut self, tell: impl Fn(&LoginReason) + Send + Sync + 'static) -> Self {
        self.on_login_needed = Some(Arc::new(tell));
        self
    }

    /// Reads the time from this function instead of the system's clock, for tests.
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Clock::new(now);
        self
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("name", &self.name)
            .field("client_id", &self.client_id)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

/// How long a person has: they have to find the window, a password and perhaps a telephone.
const LOGIN_WITHIN: Duration = Duration::from_secs(300);
