//! Logging in, checking and logging out without a client.

use std::time::Duration;

use ridethrough_oauth::store::{GrantStore, MemoryStore};
use ridethrough_oauth::{GrantStatus, KeepClient, LoggedOut, OAuth};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::AccountKey;

use crate::support::{World, builder, call, client, robot};

#[tokio::test]
async fn a_status_is_told_without_asking_anybody() {
    let world = World::start().await;
    let oauth = oauth().person(robot()).clock(world.clock.read());
    let account = oauth.account(&builder(&world)).unwrap();
    assert_eq!(account.status().await.unwrap().status, GrantStatus::NoAuth);

    let status = account.log_in().await.unwrap();

    assert_eq!(status.status, GrantStatus::Ok);
    assert!(status.is_refreshable);
    assert!(status.to_string().ends_with(", scopes mcp, refreshable"), "{status}");
    world.clock.pass(Duration::from_secs(4000));
    let asked = world.state().log.len();
    let later = account.status().await.unwrap();
    assert_eq!(later.status, GrantStatus::ExpiredRefreshable);
    assert_eq!(world.state().log.len(), asked);
}

#[tokio::test]
async fn a_logout_revokes_the_refresh_token_first_and_deletes_both() {
    let world = World::start().await;
    let account = oauth().person(robot()).account(&builder(&world)).unwrap();
    account.log_in().await.unwrap();

    let done = account.log_out(KeepClient::Yes).await.unwrap();

    assert_eq!(done, LoggedOut::Done { not_revoked: None });
    let hints: Vec<String> = {
        let state = world.state();
        let revoked = state.log.iter().filter(|it| it.request.path == "/revoke");
        revoked.map(|it| it.request.form()["token_type_hint"].clone()).collect()
    };
    assert_eq!(hints, ["refresh_token", "access_token"]);
    assert_eq!(account.status().await.unwrap().status, GrantStatus::LoginNeeded);
    account.log_in().await.unwrap();
    assert_eq!(world.count("one", "/register"), 1);
}

#[tokio::test]
async fn a_logout_deletes_although_nothing_can_be_revoked() {
    let world = World::start().await;
    world.state().knows_revocation = false;
    let account = oauth().person(robot()).account(&builder(&world)).unwrap();
    account.log_in().await.unwrap();

    let done = account.log_out(KeepClient::No).await.unwrap();

    assert!(matches!(done, LoggedOut::Done { not_revoked: Some(_) }), "{done:?}");
    assert_eq!(account.status().await.unwrap().status, GrantStatus::NoAuth);
    let again = account.log_out(KeepClient::No).await.unwrap();
    assert_eq!(again, LoggedOut::NobodyWasLoggedIn);
}

/// The refresh token went with the login: a process that renews it here ends it there.
#[tokio::test]
async fn a_login_that_another_process_took_away_is_not_renewed_from_memory() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = OAuth::new("test app").store(store.clone()).clock(world.clock.read());
    let account = oauth.person(robot()).account(&builder(&world)).unwrap();
    account.log_in().await.unwrap();
    let running = client(&world, OAuth::new("test app").store(store.clone()));
    call(&running).await.unwrap();
    take_away(&world, &store).await;
    world.clock.pass(Duration::from_secs(4000));
    world.state().access.clear();

    let called = call(&running).await;

    assert!(called.is_err(), "{called:?}");
    assert_eq!(world.token_forms("refresh_token").len(), 0);
    let key = account_key(&world);
    assert_eq!(store.load(&key).await.unwrap(), None);
}

/// The process that renews a login was not told how it was made.
#[tokio::test]
async fn a_login_with_the_identity_token_stays_one_in_every_process() {
    let world = World::start().await;
    world.state().wants_id_token = true;
    let store = MemoryStore::default();
    let oauth = OAuth::new("test app").store(store.clone()).clock(world.clock.read());
    let account = oauth.use_id_token().person(robot()).account(&builder(&world)).unwrap();
    account.log_in().await.unwrap();
    world.end_access_tokens();

    let called = call(&client(&world, OAuth::new("test app").store(store))).await;

    assert!(called.is_ok(), "{called:?}");
    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

/// The token that was sent is used up: sending it again ends the login of all processes.
#[tokio::test]
async fn a_refresh_without_the_identity_token_keeps_the_refresh_token_that_came() {
    let world = World::start().await;
    world.state().wants_id_token = true;
    let store = MemoryStore::default();
    let oauth = || OAuth::new("test app").store(store.clone()).clock(world.clock.read());
    let account = oauth().use_id_token().person(robot()).account(&builder(&world)).unwrap();
    account.log_in().await.unwrap();
    world.state().wants_id_token = false;
    world.end_access_tokens();
    call(&client(&world, oauth())).await.unwrap_err();
    world.state().wants_id_token = true;

    let called = call(&client(&world, oauth())).await;

    assert_eq!(called.unwrap(), "hello");
    assert_eq!(world.count("one", "/authorize"), 1);
}

async fn take_away(world: &World, store: &MemoryStore) {
    let key = account_key(world);
    let lock = store.lock(&key).await.unwrap();
    let record = store.load(&key).await.unwrap();
    store.compare_and_swap(&lock, record.as_ref(), None).await.unwrap();
}

fn account_key(world: &World) -> AccountKey {
    AccountKey::new(&HttpUrl::parse(&world.mcp_url()).unwrap(), "")
}

fn oauth() -> OAuth {
    OAuth::new("test app").store(MemoryStore::default())
}

/// A refusal may be the only place that names the scopes, the address of metadata and the demand for bound
/// tokens.
#[tokio::test]
async fn a_login_that_no_call_asked_for_asks_the_server_what_it_wants() {
    let world = World::start().await;
    world.state().challenge_scope = Some("of-the-challenge");
    let oauth = OAuth::new("test app").store(MemoryStore::default()).person(robot());

    oauth.account(&builder(&world)).unwrap().log_in().await.unwrap();

    let state = world.state();
    let login = state.log.iter().find(|it| it.request.path == "/authorize").unwrap();
    assert_eq!(login.request.query["scope"], "of-the-challenge");
}
