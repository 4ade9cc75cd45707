//! Logins in the system's keyring, which is a mock here.

use std::sync::Arc;

use keyring_core::{CredentialStore, Error, mock};
use ridethrough_oauth::store::{FileStore, GrantStore, KeyringStore, Swap};
use ridethrough_oauth::{KeepClient, OAuth};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::AccountKey;

use crate::support::{Folder, World, builder, call, client, robot};

#[tokio::test]
async fn a_login_in_the_keyring_is_found_after_a_restart_and_renewed_there() {
    let (world, folder) = (World::start().await, Folder::new());
    let keyring: Arc<CredentialStore> = mock::Store::new().unwrap();
    let store = KeyringStore::new(keyring, FileStore::at(folder.path()));
    let first = client(&world, OAuth::new("test app").store(store.clone()).person(robot()));
    call(&first).await.unwrap();
    drop(first);
    world.end_access_tokens();

    let second = client(&world, OAuth::new("test app").store(store.clone()));

    assert_eq!(call(&second).await.unwrap(), "hello");
    assert_eq!(world.token_forms("refresh_token").len(), 1);
    let record = store.load(&account(&world)).await.unwrap().unwrap();
    assert!(record.tokens.unwrap().access.expose().starts_with("c4nary-access"));
    let files = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.is_empty(), "a secret may be in {}", file.display());
    }
}

#[tokio::test]
async fn a_record_that_another_process_has_replaced_is_neither_replaced_nor_deleted() {
    let (world, folder) = (World::start().await, Folder::new());
    let store = KeyringStore::new(mock::Store::new().unwrap(), FileStore::at(folder.path()));
    let oauth = OAuth::new("test app").store(store.clone()).person(robot());
    let account_of = oauth.account(&builder(&world)).unwrap();
    account_of.log_in().await.unwrap();
    let key = account(&world);
    let old = store.load(&key).await.unwrap();
    account_of.log_in().await.unwrap();
    let new = store.load(&key).await.unwrap();
    let lock = store.lock(&key).await.unwrap();

    let swap = store.compare_and_swap(&lock, old.as_ref(), None).await.unwrap();

    assert_eq!(swap, Swap::Conflict(new.map(Box::new)));
    drop(lock);
    account_of.log_out(KeepClient::No).await.unwrap();
    assert_eq!(store.load(&key).await.unwrap(), None);
}

#[tokio::test]
async fn a_keyring_that_fails_is_told_without_what_it_holds() {
    let (world, folder) = (World::start().await, Folder::new());
    let keyring: Arc<CredentialStore> = mock::Store::new().unwrap();
    let key = account(&world);
    let entry = keyring.build("ridethrough", &key.file_stem(), None).unwrap();
    entry.set_password("c4nary").unwrap();
    let credential = entry.as_any().downcast_ref::<mock::Cred>().unwrap();
    credential.set_error(Error::BadEncoding(b"c4nary".to_vec()));
    let store = KeyringStore::new(keyring, FileStore::at(folder.path()));

    let failed = store.load(&key).await.unwrap_err();
    let unreadable = store.load(&key).await.unwrap_err();

    for error in [failed, unreadable] {
        assert!(!format!("{error} {error:?}").contains("c4nary"), "{error:?}");
    }
}

fn account(world: &World) -> AccountKey {
    AccountKey::new(&HttpUrl::parse(&world.mcp_url()).unwrap(), "")
}
