//! Programs in the background, which wait until a person logs in elsewhere.

use std::time::Duration;

use ridethrough::Client;
use ridethrough_oauth::error::LoginFailure;
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{Account, KeepClient, LoginReason, LoginState, OAuth};
use tokio::time::timeout;

use crate::support::{Folder, World, builder, call, robot};

#[tokio::test]
async fn a_login_of_another_process_is_noticed_within_a_second_and_used() {
    let (world, folder) = (World::start().await, Folder::new());
    let (account, client) = background(&world, &folder);
    let mut watch = account.watch();
    assert!(call(&client).await.is_err());
    assert_eq!(watch.state(), LoginState::Needed(LoginReason::NoGrant));
    assert_eq!(soon(watch.changed()).await, LoginState::Needed(LoginReason::NoGrant));

    log_in(&world, &folder).await;

    assert_eq!(soon(watch.changed()).await, LoginState::NotNeeded);
    assert_eq!(call(&client).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_token_that_another_process_came_by_is_sent_before_a_server_asks_for_it() {
    let (world, folder) = (World::start().await, Folder::new());
    let (account, client) = background(&world, &folder);
    let mut watch = account.watch();
    assert!(call(&client).await.is_err());
    soon(watch.changed()).await;
    log_in(&world, &folder).await;
    assert_eq!(soon(watch.changed()).await, LoginState::NotNeeded);
    // The hook brings the token by itself.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    world.state().log.clear();

    call(&client).await.unwrap();

    let state = world.state();
    let bare = state.log.iter().filter(|it| !it.request.headers.contains_key("authorization"));
    assert_eq!(bare.count(), 0, "a request went out without the token");
}

#[tokio::test]
async fn a_logout_of_another_process_ends_in_a_login_that_is_needed() {
    let (world, folder) = (World::start().await, Folder::new());
    let elsewhere = log_in(&world, &folder).await;
    let (account, client) = background(&world, &folder);
    call(&client).await.unwrap();
    let mut watch = account.watch();
    assert_eq!(watch.state(), LoginState::NotNeeded);

    elsewhere.log_out(KeepClient::Yes).await.unwrap();

    let state = timeout(Duration::from_secs(8), watch.changed()).await.unwrap();
    assert_eq!(state, LoginState::Needed(LoginReason::NoGrant));
    assert!(call(&client).await.is_err());
    assert_eq!(world.token_forms("refresh_token").len(), 0, "a revoked token was sent");
}

/// The refresh token is in memory, and a server need not support revocation.
#[tokio::test]
async fn whoever_has_logged_out_is_not_logged_in_again_by_a_refresh() {
    let (world, folder) = (World::start().await, Folder::new());
    world.state().knows_revocation = false;
    let elsewhere = log_in(&world, &folder).await;
    let (account, client) = background(&world, &folder);
    call(&client).await.unwrap();
    elsewhere.log_out(KeepClient::Yes).await.unwrap();
    world.end_access_tokens();

    assert!(call(&client).await.is_err());

    assert_eq!(world.token_forms("refresh_token").len(), 0);
    assert_eq!(account.watch().state(), LoginState::Needed(LoginReason::NoGrant));
    assert!(elsewhere.status().await.unwrap().expires_at.is_none(), "it was stored again");
}

#[tokio::test]
async fn more_scope_for_one_call_keeps_no_other_call_waiting() {
    let (world, folder) = (World::start().await, Folder::new());
    log_in(&world, &folder).await;
    let (account, client) = background(&world, &folder);

    let refused = client.call_tool("admin", serde_json::json!({})).await;

    assert!(refused.is_err());
    assert_eq!(account.watch().state(), LoginState::NotNeeded);
    assert_eq!(account.wanted_scope().as_deref(), Some("mcp admin"));
    assert_eq!(call(&client).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_login_for_a_call_is_one_of_the_person_that_is_given() {
    let (world, folder) = (World::start().await, Folder::new());
    let (account, client) = background(&world, &folder);
    assert!(call(&client).await.is_err());

    account.log_in_by(&robot()).await.unwrap();

    assert_eq!(account.watch().state(), LoginState::NotNeeded);
    assert_eq!(call(&client).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_server_that_refuses_a_new_token_gets_no_second_login_at_once() {
    let (world, folder) = (World::start().await, Folder::new());
    let (account, client) = background(&world, &folder);
    assert!(call(&client).await.is_err());
    world.state().refuses_all_tokens = true;
    account.log_in_by(&robot()).await.unwrap();
    assert!(call(&client).await.is_err());

    let again = account.log_in_by(&robot()).await;

    assert!(matches!(again, Err(LoginFailure::TooSoon(_))), "{again:?}");
    assert_eq!(world.count("one", "/authorize"), 1);
    assert_eq!(account.watch().state(), LoginState::Needed(LoginReason::FreshTokenRefused));
}

#[tokio::test]
async fn a_server_that_accepts_again_what_it_refused_costs_no_login() {
    let (world, folder) = (World::start().await, Folder::new());
    log_in(&world, &folder).await;
    let (account, client) = background(&world, &folder);
    world.state().refuses_all_tokens = true;
    assert!(call(&client).await.is_err());
    world.state().refuses_all_tokens = false;
    assert_eq!(call(&client).await.unwrap(), "hello");

    account.token_accepted();

    assert_eq!(account.watch().state(), LoginState::NotNeeded);
    world.clock.pass(Duration::from_secs(4000));
    world.state().access.clear();
    assert_eq!(call(&client).await.unwrap(), "hello");
    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

/// A store that cannot be read does not mean a logout.
#[cfg(unix)]
#[tokio::test]
async fn a_login_that_could_not_be_read_is_used_when_it_can_be() {
    use std::os::unix::fs::PermissionsExt;

    let (world, folder) = (World::start().await, Folder::new());
    log_in(&world, &folder).await;
    let files = || std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path());
    let set_mode = |mode| {
        for file in files().filter(|it| it.extension().is_some_and(|it| it == "json")) {
            std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
        }
    };
    set_mode(0o644);
    let (account, client) = background(&world, &folder);
    let mut watch = account.watch();
    assert!(call(&client).await.is_err());
    soon(watch.changed()).await;

    set_mode(0o600);

    assert_eq!(soon(watch.changed()).await, LoginState::NotNeeded);
    assert_eq!(call(&client).await.unwrap(), "hello");
}

/// Returns a client without a person, and its account.
fn background(world: &World, folder: &Folder) -> (Account, Client) {
    let account = oauth(world, folder).account(&builder(world)).unwrap();
    (account.clone(), builder(world).credentials(account).build().unwrap())
}

/// Logs a person in, as another process does.
async fn log_in(world: &World, folder: &Folder) -> Account {
    let account = oauth(world, folder).person(robot()).account(&builder(world)).unwrap();
    account.log_in().await.unwrap();
    account
}

fn oauth(world: &World, folder: &Folder) -> OAuth {
    OAuth::new("test").store(FileStore::at(folder.path())).clock(world.clock.read())
}

/// Waits for the future, for a second at most.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(1), future).await.expect("it was not noticed within a second")
}
