//! A server that wants a login, bridges to it, and people who log in elsewhere.

use ridethrough_bridge::{Bridge, LoginAdvice};
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{Account, OAuth};
use serde_json::{Value, json};

use crate::rig::Host;
use crate::support::{Folder, World, builder, robot};

pub(crate) struct Stage {
    pub(crate) world: World,
    folder: Folder,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self { world: World::start().await, folder: Folder::new() }
    }

    /// Creates a bridge in the background, which has no person.
    pub(crate) fn bridge(&self) -> Bridge {
        let builder = builder(&self.world).seed(7);
        let account = self.oauth().account(&builder).unwrap();
        let client = builder.credentials(account.clone()).build().unwrap();
        let (server, command) = ("files".to_owned(), "ridethrough login files".to_owned());
        let advice = LoginAdvice { server, url: self.world.mcp_url(), command };
        Bridge::new(client).account(account, advice)
    }

    /// Creates a host that has its handshake and can show no pages.
    pub(crate) async fn host(&self) -> Host {
        self.greeted(json!({})).await
    }

    /// Creates a host that has its handshake and can show pages.
    pub(crate) async fn host_with_pages(&self) -> Host {
        self.greeted(json!({"elicitation": {"url": {}}})).await
    }

    async fn greeted(&self, capabilities: Value) -> Host {
        let mut host = Host::start(self.bridge());
        let greeting = initialize(&mut host, capabilities).await;
        assert!(greeting["result"].is_object(), "{greeting}");
        host.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        host
    }

    /// Logs a person in by another process.
    pub(crate) async fn log_in_elsewhere(&self) -> Account {
        let oauth = self.oauth().person(robot());
        let account = oauth.account(&builder(&self.world)).unwrap();
        account.log_in().await.unwrap();
        account
    }

    /// Returns how often the MCP server was asked.
    pub(crate) fn asked(&self) -> usize {
        self.world.count("mcp", "/mcp")
    }

    fn oauth(&self) -> OAuth {
        let store = FileStore::at(self.folder.path());
        OAuth::new("test").store(store).clock(self.world.clock.read())
    }
}

pub(crate) async fn initialize(host: &mut Host, capabilities: Value) -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "host", "version": "1"},
    });
    host.asked(0, "initialize", params).await
}

/// Returns the answers to all these requests, in any order, and the other messages up to the last of them.
pub(crate) async fn answers(host: &mut Host, ids: &[u64]) -> (Vec<Value>, Vec<Value>) {
    let (mut answers, mut others) = (Vec::new(), Vec::new());
    while answers.len() < ids.len() {
        let message = host.hear_json().await;
        let is_answer = message["method"].is_null();
        if is_answer && message["id"].as_u64().is_some_and(|id| ids.contains(&id)) {
            answers.push(message);
        } else {
            others.push(message);
        }
    }
    (answers, others)
}

/// Returns the next message with this method; others are skipped.
pub(crate) async fn method(host: &mut Host, method: &str) -> Value {
    loop {
        let message = host.hear_json().await;
        if message["method"] == method {
            return message;
        }
    }
}

/// Returns the words of an error.
pub(crate) fn words(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {answer}"))
}
