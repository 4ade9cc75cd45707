//! Tokens that expire are renewed, once, and never at the cost of the login.

use std::time::Duration;

use ridethrough::credentials::Credentials;
use ridethrough_oauth::OAuth;
use ridethrough_oauth::store::{FileStore, MemoryStore};
use serde_json::json;

use crate::support::{Answer, Folder, Rotation, World, builder, call, client, robot};

#[tokio::test]
async fn a_token_that_was_refused_is_renewed_without_a_person() {
    let world = World::start().await;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();
    world.end_access_tokens();

    assert_eq!(call(&client).await.unwrap(), "hello");

    assert_eq!(world.token_forms("refresh_token").len(), 1);
    assert_eq!(world.count("one", "/authorize"), 1);
}

#[tokio::test]
async fn fifty_calls_whose_token_was_refused_cost_one_refresh() {
    let world = World::start().await;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();
    world.end_access_tokens();

    let calls = (0..50).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { call(&client).await })
    });
    for called in calls.collect::<Vec<_>>() {
        assert_eq!(called.await.unwrap().unwrap(), "hello");
    }

    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

#[tokio::test]
async fn no_request_goes_out_with_a_token_that_has_ended() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || oauth().store(store.clone());
    call(&client(&world, oauth().person(robot()))).await.unwrap();
    let ended = world.state().access.keys().next().unwrap().clone();
    world.clock.pass(Duration::from_secs(3601));
    world.state().log.clear();

    call(&client(&world, oauth())).await.unwrap();

    assert!(!world.sent_to("mcp").contains(&ended));
    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

/// A test token lives for seconds: this one is due after 1.6 s.
#[tokio::test]
async fn a_token_is_renewed_ahead_of_time_and_no_call_is_refused() {
    let world = World::start().await;
    world.state().expires_in = 2;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();
    let first = world.state().access.keys().next().unwrap().clone();
    world.state().log.clear();

    let renewing = async {
        while world.state().access.len() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), renewing).await.expect("nothing was renewed");
    // The answer is on its way to the client.
    tokio::time::sleep(Duration::from_millis(200)).await;
    call(&client).await.unwrap();

    assert!(!world.sent_to("mcp").contains(&first), "the old token was sent after its renewal");
}

#[tokio::test]
async fn a_live_token_that_is_due_is_used_while_it_is_renewed() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || oauth().store(store.clone());
    call(&client(&world, oauth().person(robot()))).await.unwrap();
    world.clock.pass(Duration::from_secs(3550));
    world.state().refresh_delay = Duration::from_secs(5);

    let called = tokio::time::timeout(Duration::from_secs(3), async {
        call(&client(&world, oauth())).await
    });

    assert_eq!(called.await.expect("the call waited for the refresh").unwrap(), "hello");
}

#[tokio::test]
async fn two_clients_of_one_folder_never_send_a_refresh_token_twice() {
    let (world, folder) = (World::start().await, Folder::new());
    let one = client(&world, oauth().store(FileStore::at(folder.path())).person(robot()));
    call(&one).await.unwrap();
    let two = client(&world, oauth().store(FileStore::at(folder.path())));
    call(&two).await.unwrap();

    for _ in 0..5 {
        world.end_access_tokens();
        let (first, second) = tokio::join!(call(&one), call(&two));
        first.unwrap();
        second.unwrap();
    }

    let mut sent: Vec<String> =
        world.token_forms("refresh_token").iter().map(|it| it["refresh_token"].clone()).collect();
    let all = sent.len();
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), all);
    assert_eq!(world.count("one", "/authorize"), 1);
}

#[tokio::test]
async fn tokens_that_another_process_has_renewed_are_adopted() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let oauth = || oauth().store(store.clone());
    let one = client(&world, oauth().person(robot()));
    call(&one).await.unwrap();
    let two = client(&world, oauth());
    call(&two).await.unwrap();
    world.end_access_tokens();
    call(&one).await.unwrap();

    call(&two).await.unwrap();

    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

#[tokio::test]
async fn a_refresh_token_that_the_answer_leaves_out_is_kept() {
    let world = World::start().await;
    world.state().rotation = Rotation::None;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();

    for _ in 0..2 {
        world.end_access_tokens();
        call(&client).await.unwrap();
    }

    assert_eq!(world.count("one", "/authorize"), 1);
}

/// None of these answers says that the login has ended.
#[tokio::test]
async fn a_wrong_answer_to_a_refresh_does_not_cost_the_login() {
    let answers = [
        Answer::new(500, "trouble"),
        Answer::new(429, "").with("retry-after", "1"),
        Answer::new(200, "<html>").with("content-type", "text/html"),
        Answer::json(400, json!({"error": "invalid_request"})),
        Answer::json(400, json!({"error": "temporarily_unavailable"})),
        Answer::dropped(),
    ];
    for answer in answers {
        let world = World::start().await;
        let client = client(&world, oauth().person(robot()));
        call(&client).await.unwrap();
        world.end_access_tokens();
        world.state().refresh_answers.push_back(answer.clone());

        let called = call(&client).await;

        assert_eq!(called.ok().as_deref(), Some("hello"), "{answer:?}");
        assert_eq!(world.count("one", "/authorize"), 1, "{answer:?}");
    }
}

/// A token that seems new and is refused would cost a login.
#[tokio::test]
async fn the_life_of_a_token_is_counted_from_the_request() {
    let world = World::start().await;
    let (read, oauth) = (world.clock.read(), oauth().person(robot()).clock(world.clock.read()));
    let account = oauth.account(&builder(&world)).unwrap();
    account.log_in().await.unwrap();
    world.clock.pass(Duration::from_secs(3600));
    world.state().refresh_delay = Duration::from_millis(500);
    let sent_before = read() + Duration::from_secs(60);
    let refreshing = {
        let account = account.clone();
        tokio::spawn(async move { account.token(None).await })
    };
    while world.token_forms("refresh_token").is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    world.clock.pass(Duration::from_secs(600));

    refreshing.await.unwrap().unwrap();
    let expires_at = account.status().await.unwrap().expires_at.unwrap();
    assert!(expires_at < sent_before + Duration::from_secs(3600), "{expires_at:?}");
}

#[tokio::test]
async fn a_login_that_has_ended_needs_a_person() {
    let world = World::start().await;
    let store = MemoryStore::default();
    call(&client(&world, oauth().store(store.clone()).person(robot()))).await.unwrap();
    world.end_access_tokens();
    world.state().refresh.clear();
    let alone = client(&world, oauth().store(store.clone()));

    let error = call(&alone).await.unwrap_err();

    assert!(error.to_string().contains("the login has ended"), "{error}");
    let attended = client(&world, oauth().store(store).person(robot()));
    assert_eq!(call(&attended).await.unwrap(), "hello");
    assert_eq!(world.token_forms("refresh_token").len(), 1, "a dead token was sent again");
}

#[tokio::test]
async fn a_server_that_refuses_each_new_token_opens_no_window_after_the_first() {
    let world = World::start().await;
    world.state().refuses_all_tokens = true;
    let client = client(&world, oauth().person(robot()));

    for _ in 0..5 {
        call(&client).await.unwrap_err();
    }

    assert_eq!(world.count("one", "/authorize"), 1);
    assert!(world.count("one", "/token") <= 2);
}

fn oauth() -> OAuth {
    OAuth::new("test app").store(MemoryStore::default())
}
