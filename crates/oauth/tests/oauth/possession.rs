//! Tokens that are bound to a key (DPoP): the servers of these tests check each proof.

use ridethrough_oauth::store::{FileStore, MemoryStore};
use ridethrough_oauth::{DpopRule, KeepClient, OAuth};
use ridethrough_oauth_core::dpop::PublicKey;

use crate::support::{Folder, World, builder, call, client, robot};

#[tokio::test]
async fn a_server_that_asks_for_bound_tokens_gets_a_proof_with_each_request() {
    let world = bound().await;
    let client = client(&world, oauth());

    assert_eq!(call(&client).await.unwrap(), "hello");

    let authorizations = authorizations(&world);
    assert!(authorizations.iter().all(|it| it.starts_with("DPoP ")), "{authorizations:?}");
    assert!(authorizations.len() > 2, "{authorizations:?}");
}

#[tokio::test]
async fn each_server_gets_its_own_nonce_and_the_call_is_run_once() {
    let world = bound().await;
    let nonces = [("one", "n-one"), ("mcp", "n-mcp")];
    world.state().proofs.nonces = nonces.map(|(site, nonce)| (site, nonce.to_owned())).into();
    let client = client(&world, oauth());

    assert_eq!(call(&client).await.unwrap(), "hello");

    assert_eq!(world.count("one", "/token"), 2, "one without the nonce, one with it");
    world.state().proofs.nonces.insert("mcp", "n-next".to_owned());
    let before = world.count("mcp", "/mcp");
    assert_eq!(call(&client).await.unwrap(), "hello");
    assert_eq!(world.count("mcp", "/mcp") - before, 2);
    assert_eq!(world.count("one", "/token"), 2, "a nonce is no reason to renew a token");
}

#[tokio::test]
async fn a_bound_login_is_renewed_with_its_key_after_a_restart() {
    let (world, folder) = (bound().await, Folder::new());
    let first = client(&world, oauth().store(FileStore::at(folder.path())));
    call(&first).await.unwrap();
    drop(first);
    world.end_access_tokens();

    let second = client(&world, oauth().store(FileStore::at(folder.path())));

    assert_eq!(call(&second).await.unwrap(), "hello");
    assert_eq!(world.count("one", "/authorize"), 1);
    assert_eq!(world.token_forms("refresh_token").len(), 1);
}

#[tokio::test]
async fn each_login_has_a_key_of_its_own() {
    let world = bound().await;
    let account = oauth().account(&builder(&world)).unwrap();

    account.log_in().await.unwrap();
    account.log_out(KeepClient::Yes).await.unwrap();
    account.log_in().await.unwrap();

    let keys: std::collections::BTreeSet<String> = world.state().bound.values().cloned().collect();
    assert_eq!(keys.len(), 2);
}

/// A stolen code is of no use without the key.
#[tokio::test]
async fn the_code_is_bound_to_the_key_of_the_tokens() {
    let world = bound().await;

    call(&client(&world, oauth())).await.unwrap();

    let state = world.state();
    let key: serde_json::Value =
        serde_json::from_str(state.bound.values().next().unwrap()).unwrap();
    let member = |name: &str| key[name].as_str().unwrap().to_owned();
    let key = PublicKey::Ec { crv: member("crv"), x: member("x"), y: member("y") };
    let asked = state.log.iter().find(|it| it.request.path == "/authorize").unwrap();
    assert_eq!(asked.request.query.get("dpop_jkt"), Some(&key.thumbprint()));
}

/// Many issuers advertise proofs for servers that know nothing of them.
#[tokio::test]
async fn a_server_that_does_not_ask_gets_bearer_tokens() {
    let world = World::start().await;
    world.state().proofs.are_advertised = true;

    assert_eq!(call(&client(&world, oauth())).await.unwrap(), "hello");

    assert!(authorizations(&world).iter().all(|it| it.starts_with("Bearer ")));
    assert!(!world.sent_to("one").contains("\"dpop\""));
}

#[tokio::test]
async fn an_issuer_that_binds_nothing_is_taken_at_its_word() {
    let world = World::start().await;

    let client = client(&world, oauth().dpop(DpopRule::Always));

    assert_eq!(call(&client).await.unwrap(), "hello");
    assert!(world.sent_to("one").contains("\"dpop\""));
    assert!(authorizations(&world).iter().all(|it| it.starts_with("Bearer ")));
}

#[tokio::test]
async fn a_server_that_wants_nonces_for_ever_costs_no_login_and_no_refresh() {
    let world = bound().await;
    let client = client(&world, oauth());
    call(&client).await.unwrap();
    world.state().refuses_every_nonce = true;
    let before = world.count("mcp", "/mcp");

    let error = call(&client).await.unwrap_err();

    assert!(!error.may_have_run(), "{error}");
    assert_eq!(world.count("mcp", "/mcp") - before, 4);
    assert_eq!(world.count("one", "/authorize"), 1);
    assert!(world.token_forms("refresh_token").is_empty());
}

/// Creates a world whose servers want bound tokens.
async fn bound() -> World {
    let world = World::start().await;
    world.state().proofs.are_wanted = true;
    world.state().proofs.are_advertised = true;
    world
}

fn oauth() -> OAuth {
    OAuth::new("test app").store(MemoryStore::default()).person(robot())
}

/// Returns the `Authorization` headers that the MCP server was sent.
fn authorizations(world: &World) -> Vec<String> {
    let state = world.state();
    let sent = state.log.iter().filter(|it| it.site == "mcp");
    sent.filter_map(|it| it.request.headers.get("authorization").cloned()).collect()
}
