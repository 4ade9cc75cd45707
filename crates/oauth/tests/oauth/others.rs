//! Work that another process has done is not repeated by this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ridethrough::credentials::Credentials;
use ridethrough::transport::BoxFuture;
use ridethrough_oauth::OAuth;
use ridethrough_oauth::person::from_fn;
use ridethrough_oauth::store::{GrantStore, MemoryStore, StoreError, StoreLock, Swap};
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{World, builder, call, client, robot};

#[tokio::test]
async fn a_call_that_waits_for_its_person_goes_on_when_another_process_has_logged_in() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || oauth().store(store.clone());
    let waiting = client(&world, oauth().person(from_fn(|_| {})));
    let waiting = tokio::spawn(async move { call(&waiting).await });

    call(&client(&world, oauth().person(robot()))).await.unwrap();

    let called = timeout(Duration::from_secs(20), waiting).await.expect("it waits for its person");
    assert_eq!(called.unwrap().unwrap(), "hello");
}

/// While a token of the old issuer is live, nothing else makes a process read the store.
#[tokio::test]
async fn a_login_of_another_process_at_the_new_issuer_is_enough() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || oauth().store(store.clone());
    let one = client(&world, oauth().person(robot()));
    call(&one).await.unwrap();
    let (two, alone) = (client(&world, oauth().person(robot())), client(&world, oauth()));
    call(&two).await.unwrap();
    call(&alone).await.unwrap();
    world.state().issuer = "two";
    world.end_access_tokens();
    call(&one).await.unwrap();

    assert_eq!(call(&two).await.unwrap(), "hello");
    assert_eq!(call(&alone).await.unwrap(), "hello");

    assert_eq!(world.count("two", "/authorize"), 1);
}

/// A program without a person cannot ask for more scope, and does not have to.
#[tokio::test]
async fn more_scope_that_another_process_was_granted_is_enough() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || oauth().store(store.clone());
    let (attended, alone) = (client(&world, oauth().person(robot())), client(&world, oauth()));
    call(&attended).await.unwrap();
    call(&alone).await.unwrap();
    attended.call_tool("admin", json!({})).await.unwrap();

    let called = alone.call_tool("admin", json!({})).await;

    assert!(called.is_ok(), "{called:?}");
    assert_eq!(world.count("one", "/authorize"), 2);
}

/// The call waited for the login that was under way, whose person takes minutes, and then asked the person too.
#[tokio::test]
async fn a_slow_login_for_more_scope_keeps_no_call_from_the_login_of_another_process() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || oauth().store(store.clone());
    call(&client(&world, oauth().person(robot()))).await.unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let slow = from_fn(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let client = client(&world, oauth().person(slow));
    call(&client).await.unwrap();
    tokio::spawn(client.call_tool("admin", json!({})).into_future());
    eventually(|| asked.load(Ordering::SeqCst) == 1).await;
    world.end_access_tokens();
    world.state().refresh.clear();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { call(&client).await }
    });
    eventually(|| !world.token_forms("refresh_token").is_empty()).await;

    let other = oauth().person(robot()).account(&builder(&world)).unwrap();
    other.log_in().await.unwrap();

    let answer = timeout(Duration::from_secs(10), waiting).await.expect("it waits for the person");
    assert_eq!(answer.unwrap().unwrap(), "hello");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// Each reading of the store was once the reason for the next one.
#[tokio::test(start_paused = true)]
async fn a_login_that_has_ended_does_not_keep_the_processor_busy() {
    let world = World::start().await;
    let store = CountingStore::default();
    let oauth = |store| oauth().store(store).clock(world.clock.read());
    let login = oauth(store.clone()).person(robot()).account(&builder(&world)).unwrap();
    login.log_in().await.unwrap();
    world.state().refresh.clear();
    let account = oauth(store.clone()).account(&builder(&world)).unwrap();
    account.token(None).await.unwrap();
    world.clock.pass(Duration::from_secs(4000));
    account.token(None).await.unwrap_err();
    store.loads.store(0, Ordering::SeqCst);

    let renewed = timeout(Duration::from_secs(60), account.renewed()).await;

    assert!(renewed.is_err(), "there is no token");
    let loads = store.loads.load(Ordering::SeqCst);
    assert!(loads < 20, "the store was read {loads} times in a minute");
}

/// A store that counts how often it is read, and hangs after a thousand times.
#[derive(Clone, Default)]
struct CountingStore {
    store: MemoryStore,
    loads: Arc<AtomicUsize>,
}

impl GrantStore for CountingStore {
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>> {
        if self.loads.fetch_add(1, Ordering::SeqCst) > 1000 {
            return Box::pin(std::future::pending());
        }
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
        self.store.compare_and_swap(lock, expected, new)
    }
}

fn oauth() -> OAuth {
    OAuth::new("test app").store(MemoryStore::default())
}

/// Waits until something is so.
async fn eventually(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), waiting).await.expect("it never happened");
}
