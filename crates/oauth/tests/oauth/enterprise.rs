//! People whose enterprise vouches for them (ID-JAG): `one` is the server's issuer, `two` the enterprise's.

use std::time::Duration;

use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{IdentityProvider, OAuth, Secret};

use crate::support::{World, call, client};

#[tokio::test]
async fn the_word_of_an_identity_provider_is_exchanged_for_tokens() {
    let world = World::start().await;

    assert_eq!(call(&client(&world, oauth(&world))).await.unwrap(), "hello");

    let exchange = &world.token_forms(TOKEN_EXCHANGE)[0];
    assert_eq!(exchange["subject_token"], "c4nary-id-token");
    assert_eq!(exchange["audience"], world.state().one);
    assert_eq!(exchange["resource"], world.mcp_url());
    assert_eq!(exchange["client_id"], "at-the-idp");
    let bearer = &world.token_forms(JWT_BEARER)[0];
    assert!(bearer["assertion"].starts_with("c4nary-id-jag"));
    assert!(world.sent_to("one").contains("Basic YXQtdGhlLXNlcnZlcjpz"), "the client's own secret");
}

#[tokio::test]
async fn an_identity_token_goes_to_the_identity_provider_only() {
    let world = World::start().await;
    call(&client(&world, oauth(&world))).await.unwrap();

    for site in ["mcp", "one"] {
        assert!(!world.sent_to(site).contains("c4nary-id-token"), "{site}");
    }
    assert!(!world.sent_to("mcp").contains("c4nary-id-jag"));
    assert!(!world.sent_to("two").contains("YXQtdGhlLXNlcnZlcjpz"), "the secret of another issuer");
}

#[tokio::test]
async fn tokens_are_exchanged_again_when_they_end_and_no_person_is_asked() {
    let world = World::start().await;
    let client = client(&world, oauth(&world));
    call(&client).await.unwrap();
    world.clock.pass(Duration::from_secs(4000));
    world.end_access_tokens();

    assert_eq!(call(&client).await.unwrap(), "hello");

    assert_eq!(world.token_forms(TOKEN_EXCHANGE).len(), 2);
    assert_eq!(world.count("one", "/authorize") + world.count("two", "/authorize"), 0);
}

#[tokio::test]
async fn another_kind_of_token_is_not_passed_on() {
    let world = World::start().await;
    world.state().exchanges_for = "urn:ietf:params:oauth:token-type:access_token";

    let error = call(&client(&world, oauth(&world))).await.unwrap_err();

    assert!(error.to_string().contains("another kind of token"), "{error}");
    assert!(!error.to_string().contains("c4nary"), "{error}");
    assert_eq!(world.count("one", "/token"), 0);
}

#[tokio::test]
async fn a_provider_that_publishes_nothing_gets_no_identity_token() {
    let world = World::start().await;
    let issuer = format!("{}/nothing-here", world.state().two);

    let error = call(&client(&world, at_provider(issuer))).await.unwrap_err();

    assert!(error.to_string().contains("was not found"), "{error}");
    assert_eq!(world.count("two", "/token"), 0);
}

#[tokio::test]
async fn an_identity_token_that_cannot_be_had_is_told_to_the_call() {
    let world = World::start().await;
    let issuer = world.state().two.clone();
    let provider = IdentityProvider::new(issuer, "at-the-idp", || async {
        Err("log in to the intranet first".to_owned())
    });
    let oauth = OAuth::enterprise_managed("at-the-server", provider);

    let client = client(&world, oauth.store(MemoryStore::default()));

    let error = call(&client).await.unwrap_err();
    assert!(error.to_string().contains("log in to the intranet first"), "{error}");
}

fn oauth(world: &World) -> OAuth {
    at_provider(world.state().two.clone())
}

fn at_provider(issuer: String) -> OAuth {
    let id_token = || async { Ok(Secret::new("c4nary-id-token")) };
    let provider = IdentityProvider::new(issuer, "at-the-idp", id_token);
    let oauth = OAuth::enterprise_managed("at-the-server", provider);
    oauth.client_secret(Secret::new("s")).store(MemoryStore::default())
}

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
