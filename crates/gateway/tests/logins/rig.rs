//! A gateway in front of a server at which each principal has a login of its own.

use std::sync::{Arc, Mutex};

use ridethrough::credentials::StaticToken;
use ridethrough::{Client, ClientBuilder, Era, Error};
use ridethrough_gateway::{
    AccessRights, Connect, Gateway, GatewayNews, GatewaySettings, ServerSettings,
};
use ridethrough_oauth::OAuth;
use ridethrough_oauth::store::FileStore;
use ridethrough_server::{AccessPolicy, Principal, Server, Settings, Token};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{Folder, World, builder};

pub(crate) struct Rig {
    pub(crate) world: Arc<World>,
    pub(crate) gateway: Gateway,
    /// The gateway, without a path.
    pub(crate) origin: String,
    folder: Arc<Folder>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut ServerSettings)) -> Self {
        Self::of(change, GatewaySettings::default()).await
    }

    /// A gateway at whose page a person must show the principal's token.
    pub(crate) async fn with_proof() -> Self {
        let mut settings = GatewaySettings::default();
        settings.login_needs_token = true;
        Self::of(|_| {}, settings).await
    }

    async fn of(change: impl FnOnce(&mut ServerSettings), gateway: GatewaySettings) -> Self {
        let (world, folder) = (Arc::new(World::start().await), Arc::new(Folder::new()));
        world.state().tools = &["hello", "repeat"];
        let mut settings = ServerSettings::new("guarded", To(world.clone(), folder.clone()));
        change(&mut settings);
        let told = Arc::<Mutex<Vec<String>>>::default();
        let hearing = told.clone();
        let tell = move |news: GatewayNews| hearing.lock().unwrap().push(news.to_string());
        let gateway = Gateway::new(vec![settings], gateway, tell);
        let mut access = AccessPolicy::new([127, 0, 0, 1].into(), Token::new("owner").ok());
        for name in ["ada", "bob"] {
            access = access.allow_principal(Principal::new(name), Token::new(name).unwrap());
        }
        let server = Server::new(gateway.clone(), access, Settings::default(), |_| {});
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        gateway.set_public_url(&origin);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { server.serve(connection).await });
            }
        });
        Self { world, gateway, origin, folder, told }
    }

    /// A client of this principal.
    pub(crate) fn builder(&self, principal: &str, era: Era, path: &str) -> ClientBuilder {
        Client::builder(&format!("{}{path}", self.origin))
            .no_proxy()
            .eras(era)
            .credentials(StaticToken::new(principal).unwrap())
            .client_info(json!({ "name": "test-agent", "version": "1.0" }))
    }

    /// A client of this principal that can show no pages.
    pub(crate) fn client(&self, principal: &str) -> Client {
        self.builder(principal, Era::Legacy, "/mcp/guarded").build().unwrap()
    }

    /// Calls as this principal, and returns the page at which a person must log in.
    pub(crate) async fn login_url(&self, principal: &str) -> String {
        let error = refused(&self.client(principal), "hello").await;
        error["data"]["url"].as_str().unwrap_or_else(|| panic!("{error}")).to_owned()
    }

    /// How a person logs in for a principal by another program.
    pub(crate) fn oauth(&self) -> OAuth {
        oauth(&self.world, &self.folder)
    }

    /// Says which servers named principals may use.
    pub(crate) fn set_access(&self, access: AccessRights) {
        self.gateway.set_access(access);
    }

    /// What the person who runs the gateway was told.
    pub(crate) fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }
}

/// The way to the server.
struct To(Arc<World>, Arc<Folder>);

impl Connect for To {
    fn builder(&self) -> Result<ClientBuilder, String> {
        Ok(builder(&self.0))
    }

    fn principal_login(&self) -> Option<OAuth> {
        Some(oauth(&self.0, &self.1))
    }

    fn is_local(&self) -> bool {
        false
    }

    fn fingerprint(&self) -> String {
        self.0.mcp_url()
    }
}

fn oauth(world: &World, folder: &Folder) -> OAuth {
    OAuth::new("gateway").store(FileStore::at(folder.path())).clock(world.clock.read())
}

/// Calls a tool, and returns what it says.
pub(crate) async fn call(client: &Client, tool: &str) -> Result<String, Error> {
    client.call_tool(tool, json!({})).await.map(|result| result.text())
}

/// Calls a tool that is refused, and returns the error.
pub(crate) async fn refused(client: &Client, tool: &str) -> Value {
    match call(client, tool).await {
        Err(Error::Server(error)) => error.json.read().unwrap(),
        other => panic!("{other:?}"),
    }
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
