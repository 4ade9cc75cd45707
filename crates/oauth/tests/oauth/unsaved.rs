//! Tokens that could not be stored when they came.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ridethrough::credentials::Credentials;
use ridethrough::transport::BoxFuture;
use ridethrough_oauth::store::{GrantStore, MemoryStore, StoreError, StoreLock, Swap};
use ridethrough_oauth::{Account, OAuth};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::support::{World, builder, call, client, robot};

/// The answer arrived, and the disk was full.
#[tokio::test]
async fn tokens_that_could_not_be_stored_are_used_and_cost_no_login() {
    let world = World::start().await;
    let store = FailingStore::default();
    let one = client(&world, oauth(&store).person(robot()));
    call(&one).await.unwrap();
    world.end_access_tokens();
    store.fails.store(true, Ordering::SeqCst);
    call(&one).await.unwrap();
    let renewed = world.state().access.keys().next().unwrap().clone();
    store.fails.store(false, Ordering::SeqCst);

    world.end_access_tokens();
    call(&one).await.unwrap();

    let two = client(&world, oauth(&store));
    call(&two).await.unwrap();
    assert!(!world.state().access.contains_key(&renewed));
    assert_eq!(world.count("one", "/authorize"), 1);
}

/// A write that goes on without its lock may replace what the next holder of the lock has written.
#[tokio::test]
async fn a_wait_that_is_dropped_in_the_middle_of_a_write_keeps_the_lock() {
    let world = World::start().await;
    let store = FailingStore::default();
    let account = with_unsaved_tokens(&world, &store).await;
    store.is_slow.store(true, Ordering::SeqCst);
    let waiting = tokio::spawn(async move { account.renewed().await });
    store.writing.acquire().await.unwrap().forget();

    waiting.abort();
    waiting.await.unwrap_err();

    let key = key(&world);
    let is_free = timeout(Duration::from_millis(200), store.lock(&key)).await.is_ok();
    assert!(!is_free, "the lock was given back in the middle of a write");
    store.may_write.add_permits(1);
    timeout(Duration::from_secs(20), store.lock(&key)).await.unwrap().unwrap();
}

/// According to their times, the tokens in the store are newer.
#[tokio::test]
async fn they_are_written_later_although_the_clock_was_set_back() {
    let world = World::start().await;
    let (store, key) = (FailingStore::default(), key(&world));
    world.clock.pass(Duration::from_secs(90_000));
    let account = account(&world, &store);
    account.log_in().await.unwrap();
    world.clock.set_back(Duration::from_secs(80_000));
    store.fails.store(true, Ordering::SeqCst);
    account.token(None).await.unwrap();
    account.work_ended().await;
    assert_eq!(world.token_forms("refresh_token").len(), 1);
    let before = store.load(&key).await.unwrap();

    store.fails.store(false, Ordering::SeqCst);
    let waiting = tokio::spawn(async move { account.renewed().await });

    let written = async {
        while store.load(&key).await.unwrap() == before {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), written).await.expect("they were given up");
    waiting.abort();
}

/// According to its times, the login in the store is older.
#[tokio::test]
async fn they_do_not_replace_a_login_of_another_process_after_the_clock_was_set_back() {
    let world = World::start().await;
    let (store, key) = (FailingStore::default(), key(&world));
    let account = with_unsaved_tokens(&world, &store).await;
    world.clock.set_back(Duration::from_secs(3000));
    self::account(&world, &store).log_in().await.unwrap();
    let login = store.load(&key).await.unwrap();

    timeout(Duration::from_secs(20), account.renewed()).await.expect("the login is not taken");

    let stored = store.load(&key).await.unwrap();
    assert!(stored == login, "the login was replaced");
}

#[tokio::test]
async fn they_do_not_undo_a_logout() {
    let world = World::start().await;
    let (store, key) = (FailingStore::default(), key(&world));
    let account = with_unsaved_tokens(&world, &store).await;
    let lock = store.lock(&key).await.unwrap();
    let record = store.load(&key).await.unwrap();
    store.compare_and_swap(&lock, record.as_ref(), None).await.unwrap();
    drop(lock);

    // From here on, only the store is read.
    tokio::time::pause();
    let renewed = timeout(Duration::from_secs(60), account.renewed()).await;

    assert!(renewed.is_err(), "there is no token");
    assert!(store.load(&key).await.unwrap().is_none(), "the login is back");
}

/// Returns an account with tokens that are in use and not in the store.
async fn with_unsaved_tokens(world: &World, store: &FailingStore) -> Account {
    let account = account(world, store);
    account.log_in().await.unwrap();
    account.token(None).await.unwrap();
    world.clock.pass(Duration::from_secs(4000));
    store.fails.store(true, Ordering::SeqCst);
    account.token(None).await.unwrap();
    store.fails.store(false, Ordering::SeqCst);
    account
}

fn account(world: &World, store: &FailingStore) -> Account {
    let oauth = oauth(store).person(robot()).clock(world.clock.read());
    oauth.account(&builder(world)).unwrap()
}

fn key(world: &World) -> AccountKey {
    AccountKey::new(&HttpUrl::parse(&world.mcp_url()).unwrap(), "")
}

fn oauth(store: &FailingStore) -> OAuth {
    OAuth::new("test app").store(store.clone())
}

/// A store that can be read and not written, or written only when a test allows it.
#[derive(Clone)]
struct FailingStore {
    store: MemoryStore,
    fails: Arc<AtomicBool>,
    is_slow: Arc<AtomicBool>,
    /// One permit for each slow write that has begun.
    writing: Arc<Semaphore>,
    /// One permit for each slow write that may continue.
    may_write: Arc<Semaphore>,
}

impl Default for FailingStore {
    fn default() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self {
            store: MemoryStore::default(),
            fails: Arc::default(),
            is_slow: Arc::default(),
            writing: none(),
            may_write: none(),
        }
    }
}

impl GrantStore for FailingStore {
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>> {
        self.store.load(account)
    }

    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        self.store.lock(account)
    }

    fn compare_and_swap<'a>(
        &'a self,
        lock: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>> {
        Box::pin(async move {
            if self.fails.load(Ordering::SeqCst) {
                return Err(StoreError::Other("no space".to_owned()));
            }
            if self.is_slow.load(Ordering::SeqCst) {
                self.writing.add_permits(1);
                self.may_write.acquire().await.expect("it is never closed").forget();
            }
            self.store.compare_and_swap(lock, expected, new).await
        })
    }
}
