//! The settings of a client: what is required, and what may be changed.
//!
//! [`ClientBuilder::build`] checks everything once, and reports all faults together.

mod answering;
mod check;
mod eras;
mod network;
mod place;
mod tasks;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use ridethrough_core::{Era, Eras, Identity, Link, RetryPolicy, Version};
use ridethrough_transport::{Clock, Dial, Proxying, ReadRate, SleepClock, Transport};
use ridethrough_wire::message::Json;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::cache::Cache;
use crate::client::{Client, Tasks};
use crate::driver::{Driver, Limits, Parts, Peers};
use crate::error::BuildError;
use crate::handlers::Handlers;
use crate::observe::{Observers, OnEra};
use ridethrough_transport::credentials::Credentials;

pub use network::Network;

use check::{Faults, check_cache, check_limits, object};
use place::{Place, Reached};
use tasks::{declares, with_tasks};

/// The settings of a client. Created by [`Client::builder`], or by [`ClientBuilder::spawn`] for a local
/// server.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use ridethrough::{Client, RetryPolicy};
/// use ridethrough::credentials::EnvironmentToken;
///
/// let patient = RetryPolicy::interactive().builder().patience(Duration::from_secs(120)).build()?;
/// let client = Client::builder("https://example.com/mcp")
///     .retry_policy(patient)
///     .credentials(EnvironmentToken::new("EXAMPLE_TOKEN"))
///     .header("x-team", "blue")
///     .build()?;
/// # Ok(()) }
/// ```
#[must_use]
pub struct ClientBuilder {
    place: Place,
    policy: RetryPolicy,
    eras: Option<Eras>,
    preferred_era: Era,
    /// The server's era as an earlier client found it, and how long ago.
    known_era: Option<(Era, Duration)>,
    revision: Option<Version>,
    info: Result<Json, String>,
    capabilities: Result<Json, String>,
    headers: Vec<(String, String)>,
    credentials: Option<Arc<dyn Credentials>>,
    handlers: Handlers,
    is_following_tasks: bool,
    dial: Option<Arc<dyn Dial>>,
    proxying: Proxying,
    transport: Option<Arc<dyn Transport>>,
    roots: Vec<Vec<u8>>,
    /// A certificate chain and its key, in PEM.
    client_certificate: Option<(Vec<u8>, Vec<u8>)>,
    is_http1_only: bool,
    /// Whether every certificate of the server is accepted.
    is_unchecked: bool,
    limits: Limits,
    read_rate: Option<ReadRate>,
    cache: Cache,
    peers: Option<Peers>,
    connection_limit: Option<usize>,
    sleep: SleepClock,
    seed: Option<u64>,
    on_era: Option<OnEra>,
}

impl ClientBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self::at(Place::Url(url.to_owned()))
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            policy: RetryPolicy::default(),
            eras: None,
            preferred_era: Era::Modern,
            known_era: None,
            revision: None,
            info: Ok(Json::new(OUR_INFO).expect("written as JSON below")),
            capabilities: Ok(Json::empty_object()),
            headers: Vec::new(),
            credentials: None,
            handlers: Handlers::default(),
            is_following_tasks: false,
            dial: None,
            proxying: Proxying::default(),
            transport: None,
            roots: Vec::new(),
            client_certificate: None,
            is_http1_only: false,
            is_unchecked: false,
            limits: Limits::default(),
            read_rate: None,
            cache: Cache::default(),
            peers: None,
            connection_limit: None,
            sleep: SleepClock::default(),
            seed: None,
            on_era: None,
        }
    }

    /// Sets the retry policy: how long to wait and how often to try.
    pub fn retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the client's `clientInfo`, an object with `name` and `version`.
    ///
    /// ```
    /// # let builder = ridethrough::Client::builder("https://example.com/mcp");
    /// builder.client_info(serde_json::json!({ "name": "my-agent", "version": "1.2.3" }));
    /// ```
    pub fn client_info(mut self, info: impl Serialize) -> Self {
        self.info = object(&info);
        self
    }

    /// Sets the client's `capabilities`, an object. Handlers add their own, unless they are set here.
    pub fn capabilities(mut self, capabilities: impl Serialize) -> Self {
        self.capabilities = object(&capabilities);
        self
    }

    /// Adds a header to every request. Headers that the protocol uses are set by the client itself.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the source of tokens.
    pub fn credentials(mut self, credentials: impl Credentials) -> Self {
        self.credentials = Some(Arc::new(credentials));
        self
    }

    /// Makes connections by this dial instead of the operating system's sockets. For `https`, TLS is put on
    /// top of them. A proxy that the environment names is then not used.
    pub fn dial(mut self, dial: impl Dial) -> Self {
        self.dial = Some(Arc::new(dial));
        self
    }

    /// Reaches the server through this HTTP proxy, whatever the environment says:
    /// `http://name:password@proxy.example:3128`. The connection to an `https` proxy uses TLS.
    ///
    /// By default the environment decides: `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, in lower
    /// or upper case. `localhost` and loopback addresses are never reached through a proxy of the
    /// environment.
    ///
    /// The proxy must open tunnels (`CONNECT`), to `http` servers too. If it cannot reach the server, calls
    /// wait as for a server that is down. Name and password are never shown.
    ///
    /// ```
    /// # async fn example() -> Result<(), ridethrough::error::BuildError> {
    /// let client = ridethrough::Client::builder("https://example.com/mcp")
    ///     .proxy("http://me:secret@proxy.example:3128")
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "proxy")]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxying = Proxying::Through(url.into());
        self
    }

    /// Reaches the server without a proxy, whatever the environment says.
    #[cfg(feature = "proxy")]
    pub fn no_proxy(mut self) -> Self {
        self.proxying = Proxying::None;
        self
    }

    /// Trusts these certificates (PEM) in addition to the system's roots and `SSL_CERT_FILE`.
    ///
    /// A certificate among them is also trusted when the server presents exactly that one, self-signed or
    /// not, if its names and dates are right.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Accepts every certificate of the server: its name, its dates and its signature are not checked.
    ///
    /// An attacker on the network can then answer in the server's place, and read and change everything,
    /// including tokens. It is meant for tests against a server on this machine; to trust one certificate
    /// that no authority has signed, name it with [`root_certificates`](Self::root_certificates). The
    /// certificate of an `https` proxy is always checked.
    pub const fn danger_accept_any_certificate(mut self) -> Self {
        self.is_unchecked = true;
        self
    }

    /// Presents this certificate to a server that asks for one. The chain begins with the certificate itself,
    /// followed by those that lead to its root; the key is the private key of the first. Both are PEM, and
    /// the key is never shown.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = ridethrough::Client::builder("https://example.com/mcp")
    ///     .client_certificate(std::fs::read("me.pem")?, std::fs::read("me.key")?)
    ///     .root_certificates(std::fs::read("company.pem")?)
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn client_certificate(
        mut self,
        pem_chain: impl Into<Vec<u8>>,
        pem_key: impl Into<Vec<u8>>,
    ) -> Self {
        self.client_certificate = Some((pem_chain.into(), pem_key.into()));
        self
    }

    /// Offers HTTP/1.1 only, for a server or proxy that claims HTTP/2 and does not support it.
    pub const fn http1_only(mut self) -> Self {
        self.is_http1_only = true;
        self
    }

    /// Sets how long one connect may take, TLS included; 5 s by default.
    pub const fn connect_timeout(mut self, time: Duration) -> Self {
        self.limits.connect = time;
        self
    }

    /// Sets the most connections that are open to the server at once, on HTTP/1.1; at least 5.
    ///
    /// A call needs one for as long as it takes. Calls beyond the limit wait in order, and one whose deadline
    /// passes meanwhile reports that. Four connections are not for calls: the standing stream has one, and
    /// control messages, resumes and new connections have one each, so that nothing that a call depends on
    /// ever waits for calls. The default lets no call in flight wait: the policy's limit in flight (256) and
    /// those four. On HTTP/2 the server limits streams instead.
    pub const fn connection_limit(mut self, connections: usize) -> Self {
        self.connection_limit = Some(connections);
        self
    }

    /// Sets the largest message that is read, one event or one body; 16 MiB by default. A call whose answer
    /// is larger ends with [`Kind::TooLarge`](crate::error::Kind::TooLarge).
    ///
    /// Partly received messages of all calls together may be three times that and one message more. Beyond
    /// that, answers are read one after the other: the server waits, and no call fails for it.
    pub const fn message_limit(mut self, bytes: usize) -> Self {
        self.limits.message = bytes;
        self.limits.link = bytes.saturating_mul(3);
        self
    }

    /// Sets what is kept of the server's results; by default, as much as the server allows, within the bounds
    /// of [`Cache::new`].
    pub const fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Sets the clock that tells how long the computer has slept in all. By default that is the difference
    /// between its wall clock and its monotonic clock.
    ///
    /// After a sleep of 5 s or more the server is asked at once whether it is there, the standing stream is
    /// opened again, idle connections are closed, and [`Event::Suspended`](crate::event::Event::Suspended)
    /// reports the gap.
    pub fn sleep_clock(mut self, asleep: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.sleep = SleepClock::new(asleep);
        self
    }

    /// Sets the seed of all jitter, so that a run can be repeated.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Builds the client. It connects with its first call, or by [`Client::connect`].
    ///
    /// Must be called in a tokio runtime, on which the client's task then runs.
    pub fn build(self) -> Result<Client, BuildError> {
        let Checked { reached, identity, runtime } = self.check()?;
        let Reached { name, transport, carries_http_sse } = reached;
        let tasks = declares(&identity.capabilities)
            .then(|| Tasks { runtime: runtime.clone(), time: self.policy.tool_deadline() });
        let clock = Clock::start();
        let eras = self.spoken();
        let seed = self.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let mut link = Link::new(clock.now(), eras, identity, self.policy.clone(), seed);
        self.hide_secrets(link.secrets());
        if let Some(revision) = self.revision.filter(|it| it.era().has_sessions()) {
            link.offer(revision);
        }
        if let Some(time) = self.place.time_to_start() {
            link.give_time_to_start(time);
            link.hold_no_calls();
        }
        link.prefer_era(self.preferred_era);
        if carries_http_sse {
            link.speak_http_sse();
        }
        if let Some((era, age)) = self.known_era {
            link.remember_era(clock.now(), era, age);
        }
        let (observers, lookout) = Observers::new(name, self.on_era);
        let (sender, commands) = mpsc::unbounded_channel();
        let driver = Box::new(Driver::new(Parts {
            link,
            clock,
            sleep: self.sleep.watch(),
            transport,
            credentials: self.credentials,
            handlers: self.handlers,
            observers,
            limits: self.limits,
            cache: self.cache,
            commands,
            membership: self.peers.map(|peers| peers.join(&sender)),
        }));
        runtime.spawn(driver.run());
        Ok(Client::from_parts(sender, lookout, tasks))
    }

    /// Checks all settings, and reports all faults together.
    fn check(&self) -> Result<Checked, BuildError> {
        let mut faults = Faults::default();
        let reached = self.reach(&mut faults);
        let info = faults.found(self.info.clone().map_err(|it| format!("`client_info` is {it}")));
        let capabilities = self.capabilities.clone();
        let capabilities =
            faults.found(capabilities.map_err(|it| format!("`capabilities` is {it}")));
        check_limits(self.limits, &mut faults);
        check_cache(self.cache, &mut faults);
        let runtime = faults.found(
            Handle::try_current()
                .map_err(|_| "`build` was called outside a tokio runtime".to_owned()),
        );
        let built = (|| {
            let capabilities = with_handlers(&capabilities?, &self.handlers);
            let capabilities =
                if self.is_following_tasks { with_tasks(&capabilities) } else { capabilities };
            let identity = Identity { info: info?, capabilities };
            Some(Checked { reached: reached?, identity, runtime: runtime? })
        })();
        faults.verdict(built)
    }
}

/// The checked parts of a client.
struct Checked {
    reached: Reached,
    identity: Identity,
    runtime: Handle,
}

/// Returns the capabilities that were set, and those of handlers where none were set.
fn with_handlers(said: &Json, handlers: &Handlers) -> Json {
    let unsaid = handlers.capabilities();
    said.with_members(unsaid.into_iter().filter(|(name, _)| said.member(name).is_none()))
}

impl fmt::Debug for ClientBuilder {
    /// Headers and the URL's query may be secrets, so neither is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("policy", &self.policy).finish_non_exhaustive()
    }
}

const OUR_INFO: &str =
    concat!(r#"{"name":"ridethrough","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

#[cfg(test)]
mod tests;
