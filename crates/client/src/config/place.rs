//! Where a client's server is: at a URL, or in a child process.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_core::{Era, Eras};
use ridethrough_transport::{
    ClientCertificate, Command, Dial, Endpoint, Http, HttpSse, Paced, Pool, PoolSettings, Proxying,
    ReadRate, Route, Transport, platform, shown,
};
use ridethrough_wire::secrets::Secrets;

use super::ClientBuilder;
use super::check::{Faults, connection_limit, headers, roots};
use crate::client::Client;
use crate::driver::Peers;
use crate::error::BuildError;
use ridethrough_transport::probe::Probe;

impl Client {
    /// Creates a client with the default settings. It connects with its first call.
    pub fn new(url: &str) -> Result<Self, BuildError> {
        Self::builder(url).build()
    }

    /// Creates a client of a local server, with the default settings: a program that speaks MCP over its
    /// stdin and stdout. The program is started with the first call, and again after it has died.
    ///
    /// Everything else is as over HTTP. A call that the server may have run when it died ends as interrupted,
    /// and one that is safe to repeat is sent to the next process. A program that keeps dying is started
    /// again with growing pauses, for as long as a call has patience. The error that reports the program's
    /// end includes the last lines of its stderr, unless [`Command::stderr`](crate::Command::stderr) says
    /// otherwise.
    ///
    /// [`close`](Self::close) closes the server's stdin, then asks it to end, then kills it. Dropping the
    /// last client kills it at once, with everything in its process group. If the client's own process is
    /// killed, it cannot do that: the server sees the end of its stdin, and a well-behaved one then ends.
    ///
    /// This works on Unix only, which has process groups; on other platforms it returns an error.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::{Client, Command};
    ///
    /// let server = Command::new("npx").arg("-y").arg("@modelcontextprotocol/server-everything");
    /// let client = Client::spawn(server)?;
    /// for tool in client.tools().await? {
    ///     println!("{}", tool.name);
    /// }
    /// client.close().await;
    /// # Ok(()) }
    /// ```
    pub fn spawn(command: Command) -> Result<Self, BuildError> {
        ClientBuilder::spawn(command).build()
    }

    /// Creates a builder for a client with other settings.
    pub fn builder(url: &str) -> ClientBuilder {
        ClientBuilder::new(url)
    }
}

/// Where the server is, as it was given.
#[derive(Clone)]
pub(super) enum Place {
    Command(Command),
    Url(String),
}

impl Place {
    /// Returns the eras to speak by default. A request to a URL always has a status for an answer, also
    /// through the application's own transport; a program may stay silent when it does not know a request.
    pub(super) const fn eras(&self) -> Eras {
        match self {
            Self::Command(_) => Eras::Only(Era::Legacy),
            Self::Url(_) => Eras::Either,
        }
    }

    /// Returns how long a server may take from its start to its first answer; `None` if it already runs.
    pub(super) const fn time_to_start(&self) -> Option<Duration> {
        match self {
            Self::Command(_) => Some(TIME_TO_START),
            Self::Url(_) => None,
        }
    }
}

/// How long a program may take to start: `npx` and the like download a server first. A program that exits is
/// not waited for.
const TIME_TO_START: Duration = Duration::from_secs(60);

/// The transport to the server, and the server's name in events.
pub(super) struct Reached {
    pub(super) name: String,
    pub(super) transport: Arc<dyn Transport>,
    /// Whether the transport also carries HTTP+SSE of 2024-11-05.
    pub(super) carries_http_sse: bool,
}

impl ClientBuilder {
    /// Creates a builder for a client of a local server, which is started with the first call, and again
    /// after it has died.
    ///
    /// Policy, client information, capabilities, handlers, limits and the seed mean what they mean over HTTP;
    /// a connect is a start of the program. [`build`](Self::build) refuses headers, credentials,
    /// certificates, a dial, a proxy, the HTTP version and a transport, because nothing would use them. It
    /// also refuses a local server on platforms without process groups, which only Unix has.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::{ClientBuilder, Command, RetryPolicy};
    ///
    /// let client = ClientBuilder::spawn(Command::new("my-server").arg("--stdio"))
    ///     .retry_policy(RetryPolicy::unattended())
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn spawn(command: Command) -> Self {
        Self::at(Place::Command(command))
    }

    /// Performs requests by this transport instead of the client's own HTTP. Headers, dial, proxy,
    /// certificates and the HTTP version are then up to the transport, and settings of them here do nothing.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Sets the rate at which large answers are read. Clients that were given clones of it share it: one process
    /// with many clients keeps time for small answers so.
    pub fn read_rate(mut self, rate: ReadRate) -> Self {
        self.read_rate = Some(rate);
        self
    }

    /// Makes the client one of several of this server: they find out together when its trouble is over.
    pub fn peers(mut self, peers: &Peers) -> Self {
        self.peers = Some(peers.clone());
        self
    }

    fn check_command(&self, command: &Command, faults: &mut Faults) {
        if command.is_empty() {
            faults.add("`program` is empty, must name a program".to_owned());
        }
        let http_only = [
            ("client_certificate", self.client_certificate.is_some()),
            ("connection_limit", self.connection_limit.is_some()),
            ("credentials", self.credentials.is_some()),
            ("danger_accept_any_certificate", self.is_unchecked),
            ("dial", self.dial.is_some()),
            ("header", !self.headers.is_empty()),
            ("http1_only", self.is_http1_only),
            ("proxy", matches!(self.proxying, Proxying::Through(_))),
            ("root_certificates", !self.roots.is_empty()),
            ("transport", self.transport.is_some()),
        ];
        for (name, _) in http_only.iter().filter(|(_, is_set)| *is_set) {
            faults.add(format!("`{name}` is set, must not be for a local server"));
        }
    }
}

impl ClientBuilder {
    /// Returns the way to the server, according to the settings.
    pub(super) fn reach(&self, faults: &mut Faults) -> Option<Reached> {
        match &self.place {
            Place::Command(command) => {
                self.check_command(command, faults);
                let transport = platform::local_server(command, self.limits.message);
                let transport = self.paced(faults.found(transport)?);
                let name = format!("stdio:{}", command.shown());
                Some(Reached { name, transport, carries_http_sse: false })
            }
            Place::Url(url) => {
                let endpoint = Endpoint::parse(url);
                let fault = |error| format!("`url` is `{}`, {error}", shown(url));
                let endpoint = faults.found(endpoint.map_err(fault));
                let transport = self.http(endpoint.as_ref(), faults);
                let carries_http_sse = self.transport.as_ref().is_none_or(|own| own.speaks_http());
                let (name, transport) = (endpoint?.origin(), transport?);
                Some(Reached { name, transport, carries_http_sse })
            }
        }
    }

    fn paced(&self, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
        match self.read_rate.clone() {
            Some(rate) => Arc::new(Paced { transport, rate }),
            None => transport,
        }
    }

    /// Masks what only the server may see: the values of headers, and the URL's query.
    pub(super) fn hide_secrets(&self, secrets: &mut Secrets) {
        for (name, value) in &self.headers {
            secrets.keep_named(name, value);
        }
        if let Place::Url(url) = &self.place
            && let Some((_, query)) = url.split_once('?')
        {
            secrets.keep_query(query);
        }
    }

    /// Returns the application's own transport, or HTTP.
    fn http(&self, endpoint: Option<&Endpoint>, faults: &mut Faults) -> Option<Arc<dyn Transport>> {
        let headers = headers(&self.headers, faults);
        let dial = self.dial_to(endpoint, faults);
        let limit = connection_limit(self.connection_limit, self.policy.in_flight());
        let limit = faults.found(limit);
        if let Some(own) = &self.transport {
            let endpoint = endpoint?;
            return Some(if own.speaks_http() {
                self.with_http_sse(own.clone(), endpoint)
            } else {
                self.paced(own.clone())
            });
        }
        let (endpoint, dial) = (endpoint?, dial?);
        let (connect_within, sleep) = (self.limits.connect, self.sleep.watch());
        let pool = PoolSettings { connect_within, limit: limit?, sleep };
        let pool = Pool::new(dial, endpoint.clone(), pool);
        let http = Arc::new(Http::new(endpoint.clone(), headers, pool));
        Some(self.with_http_sse(http, endpoint))
    }

    fn with_http_sse(&self, http: Arc<dyn Transport>, endpoint: &Endpoint) -> Arc<dyn Transport> {
        // The rate is that of the wire: a stream of HTTP+SSE is one for all answers.
        Arc::new(HttpSse::new(self.paced(http), endpoint.clone(), self.limits.message))
    }

    /// Returns the layers of a connection. The application's own transport needs none of them.
    fn dial_to(&self, endpoint: Option<&Endpoint>, faults: &mut Faults) -> Option<Arc<dyn Dial>> {
        let extra_roots = roots(&self.roots, faults);
        let certificate = self.client_certificate.as_ref();
        let certificate = certificate.map(|(chain, key)| ClientCertificate::read(chain, key));
        let certificate = certificate.and_then(|checked| faults.found(checked));
        let route = Route {
            dial: self.dial.clone(),
            addresses: None,
            proxying: &self.proxying,
            extra_roots,
            client_certificate: certificate,
            is_http1_only: self.is_http1_only,
            is_unchecked: self.is_unchecked,
        };
        let endpoint = endpoint.filter(|_| self.transport.is_none())?;
        faults.found(route.to(endpoint))
    }

    /// Builds a [`Probe`] with these settings instead of a client: it makes single requests and reports every
    /// step. Only settings for connections, headers and credentials apply; a local server, or the
    /// application's own transport, cannot be probed.
    pub fn probe(self) -> Result<Probe, BuildError> {
        let mut faults = Faults::default();
        let headers = headers(&self.headers, &mut faults);
        let endpoint = match &self.place {
            Place::Url(url) => {
                let fault = |error| format!("`url` is `{}`, {error}", shown(url));
                faults.found(Endpoint::parse(url).map_err(fault))
            }
            Place::Command(_) => faults.found(Err("a local server cannot be probed".to_owned())),
        };
        if self.transport.is_some() {
            faults.add("`transport` is set, must not be for a probe".to_owned());
        }
        let dial = self.dial_to(endpoint.as_ref(), &mut faults);
        let built = endpoint.zip(dial).map(|(endpoint, dial)| {
            Probe::new(endpoint, dial, headers, self.credentials.clone(), self.limits.connect)
        });
        faults.verdict(built)
    }
}

#[cfg(test)]
mod tests {
    use crate::{ClientBuilder, Command};
    use ridethrough_transport::Tcp;
    use ridethrough_transport::credentials::StaticToken;

    #[tokio::test]
    async fn what_only_http_has_is_refused_for_a_local_server() {
        let error = ClientBuilder::spawn(Command::new(""))
            .header("x-key", "s3cret")
            .credentials(StaticToken::new("s3cret").unwrap())
            .dial(Tcp)
            .http1_only()
            .build()
            .unwrap_err()
            .to_string();

        assert_eq!(
            error.split("; ").collect::<Vec<_>>(),
            [
                "`program` is empty, must name a program",
                "`credentials` is set, must not be for a local server",
                "`dial` is set, must not be for a local server",
                "`header` is set, must not be for a local server",
                "`http1_only` is set, must not be for a local server",
            ]
        );
    }
}
