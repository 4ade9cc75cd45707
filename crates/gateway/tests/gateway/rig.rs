//! A gateway with small servers behind it, clients in front of it, and pipes between all of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough::credentials::StaticToken;
use ridethrough::transport::{Cause, Connection, Dial, Endpoint, Failure, Peek};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_gateway::{Connect, Gateway, GatewayNews, GatewaySettings, ServerSettings};
use ridethrough_server::{AccessPolicy, Principal, Server, Settings, Token};
use tokio::io::duplex;
use tokio::task::AbortHandle;

use crate::small_server::SmallServer;

/// A gateway and the server's side of HTTP in front of it.
pub(crate) struct Rig {
    pub(crate) gateway: Gateway,
    pub(crate) front: Server,
    told: Arc<Mutex<Vec<String>>>,
}

impl Rig {
    pub(crate) fn new(servers: Vec<ServerSettings>) -> Self {
        Self::with(servers, GatewaySettings::default())
    }

    pub(crate) fn with(servers: Vec<ServerSettings>, settings: GatewaySettings) -> Self {
        let told = Arc::<Mutex<Vec<String>>>::default();
        let hearing = told.clone();
        let tell = move |news: GatewayNews| hearing.lock().unwrap().push(news.to_string());
        let gateway = Gateway::new(servers, settings, tell);
        let access = AccessPolicy::new([127, 0, 0, 1].into(), Token::new(OWNER).ok());
        let access = access.allow_principal(Principal::new("bob"), Token::new(BOB).unwrap());
        let settings = Settings::default().sessions(100);
        let front = Server::new(gateway.clone(), access, settings, |_| {});
        Self { gateway, front, told }
    }

    /// A client of the gateway.
    pub(crate) fn client(&self, era: Era) -> Client {
        self.builder(era, "/mcp").build().unwrap()
    }

    pub(crate) fn builder(&self, era: Era, path: &str) -> ClientBuilder {
        let to = Way::new(self.front.clone());
        Client::builder(&format!("http://localhost{path}"))
            .dial(to)
            .eras(era)
            .credentials(StaticToken::new(OWNER).unwrap())
            .seed(7)
    }

    /// A client of another principal.
    pub(crate) fn bob(&self, era: Era) -> Client {
        let credentials = StaticToken::new(BOB).unwrap();
        self.builder(era, "/mcp").credentials(credentials).build().unwrap()
    }

    /// What people were told.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

/// A server behind the gateway, whose way there can break.
pub(crate) struct Behind {
    pub(crate) server: SmallServer,
    pub(crate) way: Way,
    pub(crate) settings: ServerSettings,
}

impl Behind {
    pub(crate) fn new(name: &str, tools: &[&str]) -> Self {
        let server = SmallServer::new(name, tools);
        let way = Way::new(server.served());
        let settings = ServerSettings::new(name, To(way.clone()));
        Self { server, way, settings }
    }
}

impl Behind {
    /// The settings of a server that has no sessions.
    pub(crate) fn stateless(&self) -> ServerSettings {
        ServerSettings::new(&self.settings.name, ToStateless(self.way.clone()))
    }
}

/// A rig with these servers.
pub(crate) fn rig_of(servers: &[&Behind]) -> Rig {
    Rig::new(servers.iter().map(|it| it.settings.clone()).collect())
}

/// The way to a server, as the gateway goes it.
pub(crate) struct To(pub(crate) Way);

impl Connect for To {
    fn builder(&self) -> Result<ClientBuilder, String> {
        Ok(Client::builder("http://localhost/mcp").dial(self.0.clone()).seed(7))
    }

    fn is_local(&self) -> bool {
        false
    }

    fn fingerprint(&self) -> String {
        format!("{:p}", Arc::as_ptr(&self.0.state))
    }
}

struct ToStateless(Way);

impl Connect for ToStateless {
    fn builder(&self) -> Result<ClientBuilder, String> {
        Ok(To(self.0.clone()).builder()?.eras(Era::Modern))
    }

    fn is_local(&self) -> bool {
        false
    }

    fn fingerprint(&self) -> String {
        To(self.0.clone()).fingerprint()
    }
}

/// The way to a server: pipes, while it is open.
#[derive(Clone)]
pub(crate) struct Way {
    server: Server,
    state: Arc<Mutex<WayState>>,
    open: Arc<Mutex<Vec<AbortHandle>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayState {
    /// Nothing comes back, and nobody says so.
    Hangs,
    Open,
    Refuses,
}

impl Way {
    pub(crate) fn new(server: Server) -> Self {
        Self { server, state: Arc::new(Mutex::new(WayState::Open)), open: Arc::default() }
    }

    /// Breaks all connections.
    pub(crate) fn cut(&self) {
        self.open.lock().unwrap().drain(..).for_each(|it| it.abort());
    }

    /// Changes the way for new connections.
    pub(crate) fn set(&self, state: WayState) {
        *self.state.lock().unwrap() = state;
    }
}

impl Dial for Way {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let state = *self.state.lock().unwrap();
            match state {
                WayState::Open => {}
                WayState::Refuses => return Err(Failure::not_sent(Cause::ConnectRefused)),
                WayState::Hangs => return std::future::pending().await,
            }
            let (ours, theirs) = duplex(64 * 1024);
            let server = self.server.clone();
            let serving = tokio::spawn(async move { server.serve(theirs).await });
            self.open.lock().unwrap().push(serving.abort_handle());
            Ok(Connection::new(ours, Quiet))
        })
    }
}

struct Quiet;

impl Peek for Quiet {
    fn is_quiet(&self) -> bool {
        true
    }
}

/// The names of the tools that a client is shown.
pub(crate) async fn names(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

/// The text that a tool answers with.
pub(crate) async fn call(client: &Client, tool: &str) -> String {
    client.call_tool(tool, serde_json::json!({ "a": 1 })).await.unwrap().text()
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
pub(crate) const OWNER: &str = "s3cret";
pub(crate) const BOB: &str = "b0b";

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
