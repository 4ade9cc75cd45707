//! Files that hold logins can be read by their owner only.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ridethrough_oauth::OAuth;
use ridethrough_oauth::store::{FileStore, GrantStore, StoreError, Swap};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};

use crate::support::{Folder, World, call, client, robot};

#[tokio::test]
async fn files_and_their_folder_are_for_their_owner_only_whatever_the_umask() {
    rustix::process::umask(rustix::fs::Mode::empty());
    let (_, folder, _) = logged_in().await;

    assert_eq!(mode(&folder.path()), 0o700);
    let files = files(&folder);
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_symbolic_link_is_not_followed() {
    let (account, folder, store) = logged_in().await;
    let record = record_file(&folder);
    let elsewhere = folder.0.join("elsewhere.json");
    fs::rename(&record, &elsewhere).unwrap();
    symlink(&elsewhere, &record).unwrap();

    let loaded = store.load(&account).await;

    assert!(matches!(loaded, Err(StoreError::Io { .. })), "{loaded:?}");
}

#[tokio::test]
async fn a_file_that_others_can_read_is_not_used() {
    let (account, folder, store) = logged_in().await;
    fs::set_permissions(record_file(&folder), fs::Permissions::from_mode(0o644)).unwrap();

    let loaded = store.load(&account).await;

    assert!(matches!(loaded, Err(StoreError::NotPrivate { .. })), "{loaded:?}");
}

#[tokio::test]
async fn a_folder_that_others_can_enter_is_not_used() {
    let (account, folder, store) = logged_in().await;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();

    let locked = store.lock(&account).await;

    assert!(matches!(locked, Err(StoreError::NotPrivate { .. })), "{locked:?}");
}

#[tokio::test]
async fn a_lock_that_is_held_fails_closed_after_its_time() {
    let (account, folder, store) = logged_in().await;
    let held = store.lock(&account).await.unwrap();
    let other = FileStore::at(folder.path()).lock_within(Duration::from_millis(50));

    let refused = other.lock(&account).await;

    assert!(matches!(refused, Err(StoreError::Locked { .. })), "{refused:?}");
    drop(held);
    assert!(other.lock(&account).await.is_ok());
}

#[tokio::test]
async fn only_the_record_that_was_read_is_replaced_or_deleted() {
    let (account, _folder, store) = logged_in().await;
    let record = store.load(&account).await.unwrap().unwrap();
    let mut newer = record.clone();
    newer.tokens = None;
    let lock = store.lock(&account).await.unwrap();

    let done = store.compare_and_swap(&lock, Some(&record), Some(&newer)).await.unwrap();
    let conflict = store.compare_and_swap(&lock, Some(&record), None).await.unwrap();

    assert_eq!(done, Swap::Done);
    assert_eq!(conflict, Swap::Conflict(Some(Box::new(newer.clone()))));
    assert_eq!(store.load(&account).await.unwrap(), Some(newer));
}

#[tokio::test]
async fn the_record_of_another_account_is_nobodys() {
    let (account, folder, store) = logged_in().await;
    let other = AccountKey { profile: "other".into(), ..account.clone() };
    let stolen = folder.path().join(format!("{}.json", other.file_stem()));
    fs::copy(record_file(&folder), stolen).unwrap();

    assert_eq!(store.load(&other).await.unwrap(), None);
    assert!(store.load(&account).await.unwrap().is_some());
}

#[tokio::test]
async fn a_half_written_file_is_left_alone_and_said_to_be_unreadable() {
    let (account, folder, store) = logged_in().await;
    let text = fs::read_to_string(record_file(&folder)).unwrap();
    fs::write(record_file(&folder), &text[..text.len() / 2]).unwrap();

    let loaded = store.load(&account).await;

    assert!(matches!(loaded, Err(StoreError::Record { .. })), "{loaded:?}");
}

async fn logged_in() -> (AccountKey, Folder, FileStore) {
    let (world, folder) = (World::start().await, Folder::new());
    let store = FileStore::at(folder.path());
    let oauth = OAuth::new("test app").store(store.clone()).person(robot());
    call(&client(&world, oauth)).await.unwrap();
    let account = AccountKey::new(&HttpUrl::parse(&world.mcp_url()).unwrap(), "");
    assert!(store.load(&account).await.unwrap().is_some_and(|it: GrantRecord| it.tokens.is_some()));
    (account, folder, store)
}

fn files(folder: &Folder) -> Vec<PathBuf> {
    fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn record_file(folder: &Folder) -> PathBuf {
    files(folder).into_iter().find(|path| path.extension().is_some_and(|it| it == "json")).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
