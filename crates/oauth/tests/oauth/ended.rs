//! A login that has ended: one process finds out, all others know it, and each reports it once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough_oauth::OAuth;
use ridethrough_oauth::store::{FileStore, GrantStore, MemoryStore};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::{AccountKey, StoredEnd};
use serde_json::json;

use crate::support::{Answer, Folder, World, call, client, robot};

/// A race of processes showed this: each of them sent the dead token when it had the lock.
#[tokio::test]
async fn a_refresh_token_that_one_process_found_dead_is_sent_by_no_other() {
    let (world, folder) = (World::start().await, Folder::new());
    let oauth = || OAuth::new("test app").store(FileStore::at(folder.path()));
    call(&client(&world, oauth().person(robot()))).await.unwrap();
    let both = [client(&world, oauth()), client(&world, oauth())];
    for client in &both {
        call(client).await.unwrap();
    }
    world.end_access_tokens();
    world.state().refresh_answers.push_back(dead());

    let (one, two) = tokio::join!(call(&both[0]), call(&both[1]));

    one.unwrap_err();
    two.unwrap_err();
    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

/// Other processes would send it when it is due for them.
#[tokio::test]
async fn a_refresh_token_that_is_found_dead_ahead_of_time_is_known_to_be_dead_at_once() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || OAuth::new("test app").store(store.clone());
    call(&client(&world, oauth().person(robot()))).await.unwrap();
    let (one, two) = (client(&world, oauth()), client(&world, oauth()));
    call(&two).await.unwrap();
    world.clock.pass(Duration::from_secs(3550));
    world.state().refresh_answers.push_back(dead());

    call(&one).await.unwrap();

    let key = AccountKey::new(&HttpUrl::parse(&world.mcp_url()).unwrap(), "");
    let noted = async {
        while store.load(&key).await.unwrap().unwrap().end != Some(StoredEnd::GrantDead) {
            tokio::task::yield_now().await;
        }
    };
    let noted = tokio::time::timeout(Duration::from_secs(5), noted).await;
    noted.expect("the end is not in the store");
    world.end_access_tokens();
    call(&two).await.unwrap_err();
    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

#[tokio::test]
async fn that_somebody_must_log_in_is_told_once_for_each_login() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let told = Arc::new(Mutex::new(0));
    let tell = told.clone();
    let oauth = || OAuth::new("test app").store(store.clone());
    let alone = oauth().on_login_needed(move |_| *tell.lock().unwrap() += 1);
    let alone = client(&world, alone);

    for login in 1..=2 {
        for _ in 0..3 {
            call(&alone).await.unwrap_err();
        }
        assert_eq!(*told.lock().unwrap(), login);

        call(&client(&world, oauth().person(robot()))).await.unwrap();
        call(&alone).await.unwrap();
        world.end_access_tokens();
        world.state().refresh.clear();
    }
}

fn dead() -> Answer {
    Answer::json(400, json!({"error": "invalid_grant"}))
}
