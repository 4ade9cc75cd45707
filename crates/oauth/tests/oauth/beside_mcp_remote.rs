//! Logins beside `mcp-remote`, on its store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ridethrough_oauth::store::{FileStore, McpRemoteStore};
use ridethrough_oauth::{KeepClient, OAuth};
use ridethrough_oauth_core::mcp_remote::RemoteArguments;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::{Folder, World, builder, call, client, robot};

#[tokio::test]
async fn a_login_of_mcp_remote_is_taken_over_and_nobody_logs_in() {
    let beside = Beside::start().await;

    assert_eq!(call(&client(&beside.world, beside.oauth())).await.unwrap(), "hello");

    assert!(beside.sent_tokens().iter().all(|it| it == "Bearer c4nary-access-theirs"));
    assert_eq!(beside.world.count("one", "/authorize") + beside.world.count("one", "/token"), 0);
}

#[tokio::test]
async fn renewed_tokens_are_in_both_stores_and_theirs_keeps_its_form() {
    let beside = Beside::start().await;
    let client = client(&beside.world, beside.oauth());
    call(&client).await.unwrap();
    beside.world.end_access_tokens();

    assert_eq!(call(&client).await.unwrap(), "hello");

    let stored = beside.read();
    assert_ne!(stored["access_token"], "c4nary-access-theirs");
    assert!(stored["refresh_token"].as_str().unwrap().starts_with("c4nary-refresh-"));
    assert_eq!(stored["requested_scope"], "mcp", "what only they know stays");
    assert!(!beside.lease().exists());
    let forms = beside.world.token_forms("refresh_token");
    assert_eq!(forms[0]["client_id"], "theirs");
    assert_eq!(forms.len(), 1);
}

#[tokio::test]
async fn what_mcp_remote_has_renewed_is_adopted() {
    let beside = Beside::start().await;
    let client = client(&beside.world, beside.oauth());
    call(&client).await.unwrap();
    beside.world.end_access_tokens();
    beside.world.state().access.insert("c4nary-access-newer".into(), "mcp".into());

    beside.write("c4nary-access-newer", "c4nary-refresh-newer");

    assert_eq!(call(&client).await.unwrap(), "hello");
    assert!(beside.world.token_forms("refresh_token").is_empty());
}

#[tokio::test]
async fn nothing_is_renewed_while_mcp_remote_renews() {
    let beside = Beside::start().await;
    let client = client(&beside.world, beside.oauth());
    call(&client).await.unwrap();
    beside.world.end_access_tokens();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let lease = json!({"pid": std::process::id(), "nonce": "theirs", "at": now});
    fs::write(beside.lease(), lease.to_string()).unwrap();
    let calling = tokio::spawn(async move { call(&client).await });

    sleep(Duration::from_millis(300)).await;
    assert!(beside.world.token_forms("refresh_token").is_empty());
    fs::remove_file(beside.lease()).unwrap();

    assert_eq!(calling.await.unwrap().unwrap(), "hello");
}

/// A server that names another issuer would get the refresh token of the first one.
#[tokio::test]
async fn a_login_of_another_issuer_stays_where_it_is() {
    let beside = Beside::start().await;
    beside.world.state().issuer = "two";

    call(&client(&beside.world, beside.oauth())).await.unwrap_err();

    assert!(!beside.world.sent_to("two").contains("c4nary-refresh"));
    assert!(!beside.world.sent_to("mcp").contains("c4nary-access"));
}

#[tokio::test]
async fn a_login_of_our_own_is_ours_alone() {
    let beside = Beside::start().await;
    let before = beside.read();
    let account = beside.oauth().person(robot()).account(&builder(&beside.world)).unwrap();

    account.log_in().await.unwrap();

    assert_eq!(beside.read(), before);
    let client = client(&beside.world, beside.oauth());
    call(&client).await.unwrap();
    assert!(!beside.sent_tokens().contains(&"Bearer c4nary-access-theirs".to_owned()));
}

#[tokio::test]
async fn a_logout_is_for_both() {
    let beside = Beside::start().await;
    let account = beside.oauth().account(&builder(&beside.world)).unwrap();
    call(&client(&beside.world, beside.oauth())).await.unwrap();

    account.log_out(KeepClient::No).await.unwrap();

    assert!(!beside.tokens().exists());
    assert_eq!(beside.world.count("one", "/revoke"), 2);
}

#[tokio::test]
async fn a_file_that_others_can_read_is_not_taken_over() {
    let beside = Beside::start().await;
    fs::set_permissions(beside.tokens(), fs::Permissions::from_mode(0o644)).unwrap();

    call(&client(&beside.world, beside.oauth())).await.unwrap_err();

    assert!(!beside.world.sent_to("mcp").contains("c4nary-access"));
}

/// Without this check, tokens would go to any server that is asked with another one's files.
#[tokio::test]
async fn the_login_of_another_server_is_not_taken_over() {
    let beside = Beside::start().await;
    let url = "https://other.example/mcp";
    let other = McpRemoteStore::at(beside.folder.0.join("theirs"), url);
    assert!(!other.has_login().await.unwrap());
    for name in ["tokens", "client_info"] {
        let theirs = beside.path(name).with_file_name(format!("{}_{name}.json", hash(url)));
        fs::copy(beside.path(name), theirs).unwrap();
    }
    assert!(other.has_login().await.unwrap());
    let oauth = OAuth::new("test app").store(FileStore::at(beside.folder.path()));

    let calling = client(&beside.world, oauth.mcp_remote(other));

    timeout(Duration::from_secs(20), call(&calling)).await.unwrap().unwrap_err();
    assert!(!beside.world.sent_to("mcp").contains("c4nary-access"));
}

/// A world in which a person has logged in with `mcp-remote`.
struct Beside {
    world: World,
    folder: Folder,
    hash: String,
}

impl Beside {
    async fn start() -> Self {
        let (world, folder) = (World::start().await, Folder::new());
        let hash = hash(&world.mcp_url());
        let beside = Self { world, folder, hash };
        fs::create_dir_all(beside.folder.0.join("theirs/mcp-remote-v1")).unwrap();
        {
            let mut state = beside.world.state();
            state.clients.insert("theirs".into(), "one");
            state.access.insert("c4nary-access-theirs".into(), "mcp".into());
            state.refresh.insert("c4nary-refresh-theirs".into(), (true, "mcp".into()));
        }
        let issuer = beside.world.state().one.clone();
        let client = json!({"client_id": "theirs", "issuer": issuer,
                            "redirect_uris": ["http://localhost:4000/oauth/callback"]});
        private(&beside.path("client_info"), &client);
        beside.write("c4nary-access-theirs", "c4nary-refresh-theirs");
        beside
    }

    /// Returns a program without a person, with a store of its own beside that of `mcp-remote`.
    fn oauth(&self) -> OAuth {
        let theirs = McpRemoteStore::at(self.folder.0.join("theirs"), self.world.mcp_url());
        let store = FileStore::at(self.folder.path());
        OAuth::new("test app").store(store).mcp_remote(theirs).clock(self.world.clock.read())
    }

    /// Writes tokens as `mcp-remote` does after a refresh, which loses the issuer.
    fn write(&self, access: &str, refresh: &str) {
        let tokens = json!({"access_token": access, "refresh_token": refresh, "token_type": "bearer",
                            "expires_in": 3600, "requested_scope": "mcp"});
        private(&self.tokens(), &tokens);
        // The clock of the clients may be ahead of that of the files.
        let now = (self.world.clock.read())().unix_millis();
        let file = fs::File::options().write(true).open(self.tokens()).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(now)).unwrap();
    }

    fn read(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.tokens()).unwrap()).unwrap()
    }

    fn tokens(&self) -> PathBuf {
        self.path("tokens")
    }

    fn lease(&self) -> PathBuf {
        self.path("refresh_in_progress")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(format!("theirs/mcp-remote-v1/{}_{name}.json", self.hash))
    }

    fn sent_tokens(&self) -> Vec<String> {
        let state = self.world.state();
        let sent = state.log.iter().filter(|it| it.site == "mcp");
        sent.filter_map(|it| it.request.headers.get("authorization").cloned()).collect()
    }
}

fn hash(url: &str) -> String {
    RemoteArguments { url: url.to_owned(), ..RemoteArguments::default() }.hash()
}

fn private(path: &PathBuf, content: &Value) {
    fs::write(path, content.to_string()).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
