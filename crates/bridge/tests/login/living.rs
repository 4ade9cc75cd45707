//! Tokens that expire while bridges work, over pipes and under paused time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough::{Client, Era};
use ridethrough_bridge::{Bridge, LoginAdvice};
use ridethrough_lab::{Ask, Times, When};
use ridethrough_oauth::person::from_fn;
use ridethrough_oauth::store::{FileStore, GrantStore, MemoryStore};
use ridethrough_oauth::{Account, OAuth, Timestamp};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::rig::{Host, Pipes, Rig, Scratch, secs};
use crate::stage::answers;

#[tokio::test(start_paused = true)]
async fn a_token_that_ends_in_the_middle_of_calls_is_noticed_by_nobody() {
    let guarded = Guarded::new(2);
    guarded.rig.mcp.rule(When::tool("slow"), Times::Always, |ask| async move {
        sleep(secs(7)).await;
        ask.pass().await;
    });
    let store = MemoryStore::default();
    guarded.log_in(store.clone()).await;
    let mut host = guarded.host(store);
    host.greet().await;

    let ids: Vec<u64> = (1..121).collect();
    for id in &ids {
        host.call(*id, if id.is_multiple_of(3) { "slow" } else { "echo" }).await;
        sleep(Duration::from_millis(500)).await;
    }
    let (answered, _) = answers(&mut host, &ids).await;

    assert!(answered.iter().all(|it| it["result"].is_object()), "{answered:?}");
    let issued = guarded.issued.lock().unwrap();
    assert_eq!((issued.replayed, issued.logins), (0, 1));
    assert!(issued.number > 20, "{} tokens", issued.number);
}

/// The server ends each stream together with its token.
#[tokio::test(start_paused = true)]
async fn a_token_that_ends_in_the_middle_of_a_stream_costs_the_call_nothing() {
    let guarded = Guarded::new(2);
    guarded.rig.mcp.rule(When::tool("slow"), Times::Always, |ask| async move {
        ask.run();
        let mut stream = ask.sse().await;
        stream.prime("1").await;
        sleep(secs(2)).await;
        stream.cut().await;
    });
    for resumed in 0..3 {
        guarded.rig.mcp.rule(When::resume(), Times::Once, move |ask| async move {
            let mut stream = ask.sse().await;
            sleep(secs(2)).await;
            if resumed < 2 {
                stream.prime(&format!("{}", resumed + 2)).await;
                return stream.cut().await;
            }
            let text = json!([{"type": "text", "text": "whole"}]);
            let answer = json!({"jsonrpc": "2.0", "id": SLOW, "result": {"content": text}});
            stream.message(Some("9"), &answer).await;
            stream.finish().await;
        });
    }
    let store = MemoryStore::default();
    guarded.log_in(store.clone()).await;
    let mut host = guarded.host(store);
    host.greet().await;

    host.call(1, "slow").await;
    let (answered, _) = answers(&mut host, &[1]).await;

    assert_eq!(answered[0]["result"]["content"][0]["text"], "whole", "{answered:?}");
    assert_eq!(guarded.rig.mcp.executions("slow"), 1);
    let issued = guarded.issued.lock().unwrap();
    assert_eq!((issued.replayed, issued.logins), (0, 1));
    assert!(issued.number >= 3, "{} tokens", issued.number);
}

#[tokio::test(start_paused = true)]
async fn twenty_bridges_on_one_grant_renew_it_once() {
    let (guarded, scratch) = (Guarded::new(100), Scratch::new());
    let store = || FileStore::at(&scratch.0);
    guarded.log_in(store()).await;
    let mut hosts: Vec<Host> = (0..20).map(|_| guarded.host(store())).collect();
    for host in &mut hosts {
        host.greet().await;
    }
    assert_eq!(guarded.issued.lock().unwrap().number, 1);

    sleep(secs(110)).await;
    for host in &mut hosts {
        host.call(1, "echo").await;
    }

    for host in &mut hosts {
        let (answered, _) = answers(host, &[1]).await;
        assert!(answered[0]["result"].is_object(), "{answered:?}");
    }
    let issued = guarded.issued.lock().unwrap();
    assert_eq!((issued.number, issued.replayed, issued.logins), (2, 0, 1));
}

/// A server that wants a token, and the authorization server that issues it, on one host.
struct Guarded {
    rig: Rig,
    issued: Arc<Mutex<Issued>>,
    began: Instant,
}

/// The tokens of the authorization server.
struct Issued {
    life: u64,
    /// Access tokens, each with its end.
    access: BTreeMap<String, Instant>,
    /// Refresh tokens that were not used.
    refresh: BTreeSet<String>,
    number: u64,
    logins: u64,
    /// How often a refresh token was sent that had already been used.
    replayed: u64,
}

impl Guarded {
    /// Creates a server whose tokens live for so many seconds.
    fn new(life: u64) -> Self {
        let (access, refresh) = (BTreeMap::new(), BTreeSet::new());
        let issued = Issued { life, access, refresh, number: 0, logins: 0, replayed: 0 };
        let issued = Arc::new(Mutex::new(issued));
        let rig = Rig::new();
        let tokens = issued.clone();
        let is_theirs = When::matches(|entry| !entry.target.starts_with("/mcp"));
        rig.mcp.rule(is_theirs, Times::Always, move |ask| authorize(ask, tokens.clone()));
        let tokens = issued.clone();
        let is_bare = When::matches(move |entry| {
            let token = entry.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
            !tokens.lock().unwrap().is_good(token)
        });
        rig.mcp.rule(is_bare, Times::Always, |ask| async move {
            let challenge = "Bearer resource_metadata=\"http://localhost/.well-known/oauth-protected-resource\"";
            ask.status(401, &[("www-authenticate", challenge)], "").await;
        });
        Self { rig, issued, began: Instant::now() }
    }

    fn oauth(&self, store: impl GrantStore) -> OAuth {
        let began = self.began;
        let now = move || Timestamp::from_unix_secs(1_800_000_000) + began.elapsed();
        OAuth::new("test").client_id("by-hand").device().store(store).clock(now)
    }

    /// Logs in as a person on another device does.
    async fn log_in(&self, store: impl GrantStore) {
        let oauth = self.oauth(store).person(from_fn(|_| ()));
        oauth.account(&self.builder()).unwrap().log_in().await.unwrap();
    }

    fn builder(&self) -> ridethrough::ClientBuilder {
        let pipes = Pipes(self.rig.server.clone());
        Client::builder("http://localhost/mcp").dial(pipes).eras(Era::Legacy).seed(7)
    }

    fn host(&self, store: impl GrantStore) -> Host {
        let builder = self.builder();
        let account: Account = self.oauth(store).account(&builder).unwrap();
        let client = builder.credentials(account.clone()).build().unwrap();
        let word = || "test".to_owned();
        let advice = LoginAdvice { server: word(), url: word(), command: word() };
        Host::start(Bridge::new(client).account(account, advice))
    }
}

impl Issued {
    fn is_good(&self, token: Option<&str>) -> bool {
        let end = token.and_then(|token| self.access.get(token));
        end.is_some_and(|end| Instant::now() < *end)
    }

    fn issue(&mut self) -> Value {
        self.number += 1;
        let (access, refresh) = (format!("a{}", self.number), format!("r{}", self.number));
        self.access.insert(access.clone(), Instant::now() + secs(self.life));
        self.refresh.insert(refresh.clone());
        json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer",
               "expires_in": self.life})
    }
}

async fn authorize(ask: Ask, issued: Arc<Mutex<Issued>>) {
    let answer = answer(&ask, &mut issued.lock().unwrap());
    let (status, body) = answer;
    ask.status(status, &[("content-type", "application/json")], body.to_string()).await;
}

fn answer(ask: &Ask, issued: &mut Issued) -> (u16, Value) {
    let origin = "http://localhost";
    let form = String::from_utf8_lossy(&ask.entry.body).into_owned();
    let member = |name: &str| {
        let pair = form.split('&').filter_map(|it| it.split_once('=')).find(|it| it.0 == name);
        pair.map(|(_, value)| value.to_owned())
    };
    match ask.entry.target.as_str() {
        "/.well-known/oauth-protected-resource" => {
            (200, json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}))
        }
        "/.well-known/oauth-authorization-server" => (
            200,
            json!({
                "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "device_authorization_endpoint": format!("{origin}/device"),
                "code_challenge_methods_supported": ["S256"],
            }),
        ),
        "/device" => (
            200,
            json!({
                "device_code": "d", "user_code": "A", "interval": 1, "expires_in": 600,
                "verification_uri": format!("{origin}/activate"),
            }),
        ),
        "/token" => match member("refresh_token") {
            None => {
                issued.logins += 1;
                (200, issued.issue())
            }
            Some(token) if issued.refresh.remove(&token) => (200, issued.issue()),
            Some(_) => {
                issued.replayed += 1;
                issued.access.clear();
                (400, json!({"error": "invalid_grant"}))
            }
        },
        _ => (404, json!({})),
    }
}

/// The request id of the slow call: the handshake and the standing stream come before it.
const SLOW: u64 = 2;
