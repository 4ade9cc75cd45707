//! The means of a check of authorization: a server, a store, a clock that can be turned ahead.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use ridethrough::error::Kind;
use ridethrough::probe::Question;
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_oauth::store::{GrantStore, MemoryStore};
use ridethrough_oauth::{Account, ClientBuilderExt, OAuth, Timestamp};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};

use super::robot::{CallbackManner, Robot};
use crate::partner::{Verdict, expect, story, words};
use crate::process::{Process, Recipe};

/// A server, a person and a store for one check.
pub(crate) struct LoginBench<'a> {
    process: &'a mut Process,
    pub(super) robot: Robot,
    store: MemoryStore,
    ahead: Arc<AtomicU64>,
}

impl<'a> LoginBench<'a> {
    pub(super) fn new(process: &'a mut Process) -> Self {
        let robot = Robot::new(CallbackManner::Opened);
        Self { process, robot, store: MemoryStore::default(), ahead: Arc::default() }
    }

    /// Returns a login by a person.
    pub(super) fn oauth(&self) -> OAuth {
        self.unattended().person(self.robot.clone())
    }

    /// Returns a login without a person, which has the tokens of the store.
    pub(super) fn unattended(&self) -> OAuth {
        let ahead = self.ahead.clone();
        OAuth::new("ridethrough interop")
            .store(self.store.clone())
            .login_within(LOGIN)
            .clock(move || now(Duration::from_secs(ahead.load(Ordering::SeqCst))))
    }

    pub(super) fn client(&self, oauth: OAuth) -> Verdict<Client> {
        self.builder().oauth(oauth).map_err(words)?.build().map_err(words)
    }

    pub(super) fn account(&self, oauth: OAuth) -> Verdict<Account> {
        oauth.account(&self.builder()).map_err(words)
    }

    fn builder(&self) -> ClientBuilder {
        Client::builder(&self.process.url()).no_proxy().eras(Era::Legacy)
    }

    /// Logs in by a call.
    pub(super) async fn log_in(&self, oauth: OAuth) -> Verdict<Client> {
        let client = self.client(oauth)?;
        self.call(&client).await?;
        expect(self.robot.logins() == 1, || format!("{} logins", self.robot.logins()))?;
        Ok(client)
    }

    /// Calls a tool that only an admitted client may call.
    pub(super) async fn call(&self, client: &Client) -> Verdict {
        let called = client.call_tool("let_in", serde_json::json!({})).await;
        let result = called.map_err(|error| match self.robot.fault() {
            Some(fault) => format!("{}; the browser: {fault}", story(error)),
            None => story(error),
        })?;
        expect(result.text() == "let in", || format!("it says `{}`", result.text()))
    }

    pub(super) async fn calls_at_once(&self, client: &Client, calls: usize) -> Verdict {
        let called = join_all((0..calls).map(|_| self.call(client))).await;
        called.into_iter().collect()
    }

    /// Calls a tool, and expects the error that a person must log in.
    pub(super) async fn call_in_vain(&self, client: &Client) -> Verdict<String> {
        match client.call_tool("let_in", serde_json::json!({})).await {
            Ok(_) => Err("the call was let in".to_owned()),
            Err(error) if error.kind() == Some(Kind::Unauthorized) => Ok(story(error)),
            Err(error) => Err(story(error)),
        }
    }

    /// Returns the record in the store.
    pub(super) async fn record(&self) -> Verdict<Option<GrantRecord>> {
        self.store.load(&self.key()?).await.map_err(words)
    }

    /// Puts an old record in the place of the stored one.
    pub(super) async fn put_back(&self, old: &GrantRecord) -> Verdict {
        let found = self.record().await?;
        let lock = self.store.lock(&self.key()?).await.map_err(words)?;
        let swapped = self.store.compare_and_swap(&lock, found.as_ref(), Some(old)).await;
        swapped.map(drop).map_err(words)
    }

    fn key(&self) -> Verdict<AccountKey> {
        Ok(AccountKey::new(&HttpUrl::parse(&self.process.url()).map_err(words)?, ""))
    }

    /// Turns the client's clock ahead.
    pub(super) fn pass(&self, time: Duration) {
        self.ahead.fetch_add(time.as_secs(), Ordering::SeqCst);
    }

    /// Ends all access tokens that the server has seen, some time after they were issued.
    pub(super) async fn end_access_tokens(&self) -> Verdict {
        self.pass(SOME_TIME);
        self.by_hand("end").await
    }

    /// Does what a person does at the server, outside of any protocol.
    pub(super) async fn by_hand(&self, what: &str) -> Verdict {
        let url = format!("http://127.0.0.1:{}/interop/{what}", self.process.port());
        let probe = Client::builder(&url).no_proxy().probe().map_err(words)?;
        let mut line = probe.connect().await.map_err(words)?;
        let found = line.ask(Question::get()).await.map_err(words)?;
        expect(found.head.status.is_success(), || format!("{url} says {}", found.head.status))
    }

    /// Restarts the server, which has its state in memory only.
    pub(super) async fn restart(&mut self) -> Verdict {
        self.process.kill().await.map_err(words)?;
        self.process.come_back().await.map_err(words)
    }
}

/// Returns the recipe of a server that guards itself, with files that no other run of the folder uses.
pub(super) fn own_files(recipe: Recipe) -> Recipe {
    let file = |ending: &str| -> PathBuf { recipe.folder.join(format!("authorization.{ending}")) };
    Recipe { ledger: file("ledger"), log: file("log"), ..recipe }
}

fn now(ahead: Duration) -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + ahead;
    Timestamp::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// How long a login may take. A robot needs less than a second.
const LOGIN: Duration = Duration::from_secs(20);
/// The age of a token that is renewed after a refusal: a new one is not.
const SOME_TIME: Duration = Duration::from_secs(100);
