//! An authorization server in a network closer to this machine than the MCP server, which a person allowed.

use std::time::Duration;

use ridethrough::Client;
use ridethrough::credentials::Credentials;
use ridethrough_oauth::store::{FileStore, GrantStore, Swap};
use ridethrough_oauth::{Account, KeepClient, LoggedOut, OAuth};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};

use crate::support::{Folder, World, call, client, robot};

#[tokio::test]
async fn what_was_allowed_at_the_login_is_kept_with_it() {
    for is_allowed in [false, true] {
        let (world, folder) = (World::start().await, Folder::new());

        let record = record_of_login(&world, &folder, is_allowed).await;

        assert_eq!(record.allows_near_hosts, is_allowed);
    }
}

#[tokio::test]
async fn a_login_at_a_near_authorization_server_is_renewed_without_being_allowed_again() {
    for is_allowed in [true, false] {
        let (world, folder) = (World::start().await, Folder::new());
        let account = account_far_away(&world, &folder, is_allowed).await;
        world.clock.pass(Duration::from_secs(7200));

        let token = tokio::time::timeout(Duration::from_secs(1), account.token(None)).await;

        assert_eq!(world.token_forms("refresh_token").len(), usize::from(is_allowed));
        assert_eq!(matches!(token, Ok(Ok(Some(_)))), is_allowed, "{is_allowed}");
    }
}

#[tokio::test]
async fn a_login_at_a_near_authorization_server_is_revoked_without_being_allowed_again() {
    for is_allowed in [true, false] {
        let (world, folder) = (World::start().await, Folder::new());
        let account = account_far_away(&world, &folder, is_allowed).await;

        let ended = account.log_out(KeepClient::No).await.unwrap();

        let LoggedOut::Done { not_revoked } = ended else { panic!("{ended:?}") };
        assert_eq!(not_revoked.is_none(), is_allowed, "{not_revoked:?}");
        assert_eq!(world.count("one", "/revoke") > 0, is_allowed);
    }
}

/// Returns the account of a login at an MCP server on another machine; its authorization server is on this
/// one.
async fn account_far_away(world: &World, folder: &Folder, is_allowed: bool) -> Account {
    let mut record = record_of_login(world, folder, true).await;
    record.allows_near_hosts = is_allowed;
    record.server_url = FAR_AWAY.to_owned();
    record.key.resource = FAR_AWAY.to_owned();
    let store = FileStore::at(folder.path());
    let key = AccountKey::new(&HttpUrl::parse(FAR_AWAY).unwrap(), "");
    let lock = store.lock(&key).await.unwrap();
    let stored = store.compare_and_swap(&lock, None, Some(&record)).await.unwrap();
    assert_eq!(stored, Swap::Done);
    drop(lock);
    let oauth = OAuth::new("test app").store(store).clock(world.clock.read());
    oauth.account(&Client::builder(FAR_AWAY).no_proxy()).unwrap()
}

async fn record_of_login(world: &World, folder: &Folder, is_allowed: bool) -> GrantRecord {
    let store = FileStore::at(folder.path());
    let mut oauth = OAuth::new("test app").store(store.clone()).person(robot());
    if is_allowed {
        oauth = oauth.allow_near_hosts();
    }
    call(&client(world, oauth)).await.unwrap();
    let key = AccountKey::new(&HttpUrl::parse(&world.mcp_url()).unwrap(), "");
    store.load(&key).await.unwrap().unwrap()
}

/// An address that is reserved for documentation (RFC 5737): nothing is ever sent there.
const FAR_AWAY: &str = "https://203.0.113.5/mcp";
