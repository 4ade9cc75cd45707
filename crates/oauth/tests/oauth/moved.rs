//! A server that names another authorization server gets nothing of the old login.

use ridethrough_oauth::error::SettingsError;
use ridethrough_oauth::person::from_fn;
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{OAuth, Secret};

use crate::support::{World, builder, call, client, consent, robot};

#[tokio::test]
async fn another_issuer_gets_a_client_and_a_login_of_its_own() {
    let world = World::start().await;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();
    let old = secrets_of(&world);
    world.state().issuer = "two";
    world.end_access_tokens();

    assert_eq!(call(&client).await.unwrap(), "hello");

    let sent = world.sent_to("two");
    for secret in old {
        assert!(!sent.contains(&secret), "{secret} was shown to the new issuer");
    }
    assert_eq!(world.count("two", "/register"), 1);
    assert!(world.token_forms("refresh_token").is_empty());
}

#[tokio::test]
async fn without_a_person_another_issuer_gets_nothing() {
    let world = World::start().await;
    let store = MemoryStore::default();
    call(&client(&world, oauth().store(store.clone()).person(robot()))).await.unwrap();
    let alone = client(&world, oauth().store(store));
    call(&alone).await.unwrap();
    world.state().issuer = "two";
    world.end_access_tokens();

    let error = call(&alone).await.unwrap_err();

    assert!(error.to_string().contains("another issuer"), "{error}");
    assert_eq!(world.count("two", "/register") + world.count("two", "/token"), 0);
}

/// Whoever was slow to log in put everybody back to the old issuer.
#[tokio::test]
async fn a_login_that_began_before_the_move_does_not_replace_one_at_the_new_issuer() {
    let world = World::start().await;
    let store = MemoryStore::default();
    let (sender, mut urls) = tokio::sync::mpsc::unbounded_channel();
    let slow = from_fn(move |prompt| sender.send(prompt.url.clone()).unwrap());
    let slow = client(&world, oauth().store(store.clone()).person(slow));
    let slow = tokio::spawn(async move { call(&slow).await });
    let url = urls.recv().await.unwrap();
    world.state().issuer = "two";
    let quick = oauth().store(store).clock(world.clock.read()).person(robot());
    let quick = quick.account(&builder(&world)).unwrap();
    quick.log_in().await.unwrap();

    consent(&url).await;

    slow.await.unwrap().unwrap();
    let issuer = quick.status().await.unwrap().issuer.unwrap();
    assert_eq!(issuer, world.state().two);
}

#[tokio::test]
async fn a_person_who_says_no_to_another_issuer_is_not_asked_with_each_call() {
    let world = World::start().await;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();
    world.state().issuer = "two";
    world.state().denies_login = true;
    world.end_access_tokens();

    for _ in 0..3 {
        call(&client).await.unwrap_err();
    }

    assert_eq!(world.count("two", "/authorize"), 1);
}

#[tokio::test]
async fn a_client_of_the_persons_is_not_shown_to_another_issuer() {
    let world = World::start().await;
    let oauth = oauth().client_id("by-hand").client_secret(Secret::new("c4nary-secret"));
    let client = client(&world, oauth.person(robot()));
    call(&client).await.unwrap();
    world.state().issuer = "two";
    world.end_access_tokens();

    let error = call(&client).await.unwrap_err();

    assert!(error.to_string().contains("belongs to the issuer"), "{error}");
    assert_eq!(world.count("two", "/token"), 0);
}

#[tokio::test]
async fn a_token_endpoint_that_a_person_vouches_for_gets_the_code_and_later_the_refresh_token() {
    let (world, store) = (World::start().await, MemoryStore::default());
    let endpoint = format!("{}/token", world.state().origin("two"));
    let told = oauth().store(store.clone()).person(robot()).token_endpoint(endpoint);
    call(&client(&world, told)).await.unwrap();
    assert_eq!((world.count("one", "/token"), world.count("two", "/token")), (0, 1));
    world.state().clients.values_mut().for_each(|site| *site = "two");
    world.end_access_tokens();

    // The endpoint is kept with the login: a process that was not told of it renews there, too.
    let called = call(&client(&world, oauth().store(store))).await;

    assert_eq!(called.unwrap(), "hello");
    assert_eq!((world.count("one", "/token"), world.count("two", "/token")), (0, 2));
}

#[tokio::test]
async fn a_token_endpoint_that_others_can_listen_to_cannot_be_vouched_for() {
    let world = World::start().await;
    for url in ["http://as.example/c4nary", "ftp://as.example/c4nary", "c4nary"] {
        let refused = oauth().token_endpoint(url).account(&builder(&world)).unwrap_err();

        assert!(matches!(refused, SettingsError::TokenEndpoint(_)), "{refused:?}");
        assert!(!format!("{refused} {refused:?}").contains("c4nary"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_foreign_token_endpoint_gets_no_refresh_token_and_no_new_login() {
    let world = World::start().await;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();
    let foreign = format!("{}/token", world.state().two);
    world.state().foreign_token_endpoint = Some(foreign);
    world.end_access_tokens();

    assert_eq!(call(&client).await.unwrap(), "hello");
    world.end_access_tokens();
    world.state().refresh.clear();
    let error = call(&client).await.unwrap_err();

    assert!(error.to_string().contains("token_endpoint"), "{error}");
    assert_eq!(world.count("two", "/token"), 0);
}

fn secrets_of(world: &World) -> Vec<String> {
    let state = world.state();
    let names = state.access.keys().chain(state.refresh.keys()).chain(state.clients.keys());
    names.cloned().collect()
}

fn oauth() -> OAuth {
    OAuth::new("test app").store(MemoryStore::default())
}
