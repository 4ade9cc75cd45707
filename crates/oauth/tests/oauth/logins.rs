//! Logins of a person, and the calls that follow.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough::error::Kind;
use ridethrough_oauth::person::from_fn;
use ridethrough_oauth::store::{FileStore, MemoryStore};
use ridethrough_oauth::{ClientBuilderExt, OAuth, RedirectTo, Secret};

use crate::support::{Folder, Iss, Signer, World, builder, call, client, robot};

#[tokio::test]
async fn a_call_that_needs_a_login_waits_for_it_and_is_answered() {
    let world = World::start().await;
    let client = client(&world, oauth().person(robot()));

    assert_eq!(call(&client).await.unwrap(), "hello");

    assert_eq!(world.count("one", "/register"), 1);
    let exchange = &world.token_forms("authorization_code")[0];
    assert_eq!(exchange["resource"], world.mcp_url());
    assert!(exchange.contains_key("code_verifier"));
}

/// A token is never looked into: what it says is between the server and its issuer.
#[tokio::test]
async fn a_token_that_says_something_is_used_like_one_that_says_nothing() {
    let world = World::start().await;
    world.state().signer = Some(Signer::new("ada"));
    let client = client(&world, oauth().person(robot()));

    assert_eq!(call(&client).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_second_client_uses_the_login_of_the_first_without_a_person() {
    let world = World::start().await;
    let store = MemoryStore::default();
    call(&client(&world, oauth().store(store.clone()).person(robot()))).await.unwrap();

    let second = client(&world, oauth().store(store));

    assert_eq!(call(&second).await.unwrap(), "hello");
    assert_eq!(world.count("one", "/authorize"), 1);
}

#[tokio::test]
async fn without_a_person_no_login_is_begun_and_the_error_says_what_to_do() {
    let world = World::start().await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let oauth = oauth().on_login_needed(move |why| tell.lock().unwrap().push(why.to_string()));
    let client = client(&world, oauth);

    let error = call(&client).await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Unauthorized));
    assert!(error.to_string().contains("log in to"), "{error}");
    assert_eq!(*told.lock().unwrap(), ["nobody has logged in yet"]);
    assert_eq!(world.count("one", "/authorize"), 0);
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_is_used_as_it_is() {
    let world = World::start().await;
    world.state().registers = false;
    let oauth = oauth().client_id("by-hand").client_secret(Secret::new("s")).person(robot());

    call(&client(&world, oauth)).await.unwrap();

    assert_eq!(world.count("one", "/register"), 0);
    let sent = world.sent_to("one");
    assert!(sent.contains("Basic Ynk"), "{sent}");
}

#[tokio::test]
async fn a_client_whose_id_is_a_url_registers_nowhere() {
    let world = World::start().await;
    world.state().client_id_metadata = true;
    let url = "https://me.example/client.json";
    let oauth = oauth().client_metadata_url(url).person(robot());

    call(&client(&world, oauth)).await.unwrap();

    assert_eq!(world.count("one", "/register"), 0);
    assert_eq!(world.token_forms("authorization_code")[0]["client_id"], url);
}

#[tokio::test]
async fn a_server_without_registration_asks_for_a_client_id() {
    let world = World::start().await;
    world.state().registers = false;
    let client = client(&world, oauth().person(robot()));

    let error = call(&client).await.unwrap_err();

    assert!(error.to_string().contains("set `client_id`"), "{error}");
}

#[tokio::test]
async fn a_login_that_the_person_refuses_ends_the_call_with_the_reason() {
    let world = World::start().await;
    world.state().denies_login = true;
    let client = client(&world, oauth().person(robot()));

    let error = call(&client).await.unwrap_err();

    assert!(error.to_string().contains("access_denied"), "{error}");
    assert_eq!(world.count("one", "/token"), 0);
}

/// Agents repeat calls that failed; a browser window for each of them would be a storm.
#[tokio::test]
async fn a_person_who_refused_is_not_asked_again_with_the_next_call() {
    let world = World::start().await;
    world.state().denies_login = true;
    let client = client(&world, oauth().person(robot()));

    for _ in 0..3 {
        call(&client).await.unwrap_err();
    }
    assert_eq!(world.count("one", "/authorize"), 1);
    world.state().denies_login = false;
    // The pause is not counted by the wall clock.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();

    assert_eq!(call(&client).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_login_that_is_never_finished_ends() {
    let world = World::start().await;
    let oauth = oauth().person(from_fn(|_| ())).login_within(Duration::from_millis(50));

    let error = call(&client(&world, oauth)).await.unwrap_err();

    assert!(error.to_string().contains("not finished within 50ms"), "{error}");
}

#[tokio::test]
async fn a_callback_of_another_issuer_is_not_exchanged() {
    for (iss, advertised) in [(Iss::Wrong, false), (Iss::Wrong, true), (Iss::Missing, true)] {
        let world = World::start().await;
        (world.state().iss, world.state().advertises_iss) = (iss, advertised);

        let error = call(&client(&world, oauth().person(robot()))).await.unwrap_err();

        assert!(error.to_string().contains("issuer"), "{error}");
        assert_eq!(world.count("one", "/token"), 0);
    }
}

#[tokio::test]
async fn a_callback_that_names_its_issuer_is_exchanged() {
    let world = World::start().await;
    (world.state().iss, world.state().advertises_iss) = (Iss::Right, true);

    assert!(call(&client(&world, oauth().person(robot()))).await.is_ok());
}

#[tokio::test]
async fn more_scope_is_asked_for_together_with_what_was_granted() {
    let world = World::start().await;
    let client = client(&world, oauth().person(robot()));
    call(&client).await.unwrap();

    client.call_tool("admin", serde_json::json!({})).await.unwrap();

    let scopes: Vec<String> = {
        let state = world.state();
        let logins = state.log.iter().filter(|it| it.request.path == "/authorize");
        logins.map(|it| it.request.query["scope"].clone()).collect()
    };
    assert_eq!(scopes, ["mcp", "mcp admin"]);
}

/// Servers prune clients that registered themselves, and show people an error page from then on.
#[tokio::test]
async fn a_client_that_the_server_has_forgotten_is_registered_again_before_the_person_sees_it() {
    let world = World::start().await;
    let store = MemoryStore::default();
    call(&client(&world, oauth().store(store.clone()).person(robot()))).await.unwrap();
    world.state().clients.clear();
    world.state().refresh.clear();
    world.end_access_tokens();

    let again = client(&world, oauth().store(store).person(robot()));

    assert_eq!(call(&again).await.unwrap(), "hello");
    assert_eq!(world.count("one", "/register"), 2);
}

#[tokio::test]
async fn a_new_login_uses_the_registration_and_the_port_of_the_last_one() {
    let world = World::start().await;
    let store = MemoryStore::default();
    call(&client(&world, oauth().store(store.clone()).person(robot()))).await.unwrap();
    world.state().refresh.clear();
    world.end_access_tokens();

    call(&client(&world, oauth().store(store).person(robot()))).await.unwrap();

    assert_eq!(world.count("one", "/register"), 1);
    let exchanges = world.token_forms("authorization_code");
    assert_eq!(exchanges[0]["redirect_uri"], exchanges[1]["redirect_uri"]);
}

/// The second call found the login that the first had made, and waited for a lock that it held itself.
#[tokio::test]
async fn two_clients_of_one_account_that_need_a_login_at_once_share_it() {
    let world = World::start().await;
    let oauth = OAuth::new("test").store(MemoryStore::default()).person(robot());
    let account = oauth.clock(world.clock.read()).account(&builder(&world)).unwrap();
    let client = || builder(&world).credentials(account.clone()).build().unwrap();
    let (one, two) = (client(), client());

    let (first, second) = tokio::join!(call(&one), call(&two));

    assert_eq!((first.unwrap(), second.unwrap()), ("hello".to_owned(), "hello".to_owned()));
    assert_eq!(world.count("one", "/authorize"), 1);
}

#[tokio::test]
async fn two_profiles_have_two_logins() {
    let (world, folder) = (World::start().await, Folder::new());
    for profile in ["", "work"] {
        let store = FileStore::at(folder.path());
        let oauth = oauth().store(store).profile(profile).person(robot());
        call(&client(&world, oauth)).await.unwrap();
    }

    assert_eq!(world.token_forms("authorization_code").len(), 2);
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_when_the_client_is_built() {
    let world = World::start().await;
    let refused = |oauth: OAuth| builder(&world).oauth(oauth).unwrap_err().to_string();
    let to =
        |host: &str, path: &str| RedirectTo { host: host.into(), port: None, path: path.into() };

    assert!(refused(oauth().redirect(to("0.0.0.0", "/"))).contains("0.0.0.0"));
    assert!(refused(oauth().redirect(to("localhost", "/a?b"))).contains("/a?b"));
    assert!(refused(oauth().client_metadata_url("http://localhost/x")).contains("https"));
}

fn oauth() -> OAuth {
    OAuth::new("test app").store(MemoryStore::default())
}
