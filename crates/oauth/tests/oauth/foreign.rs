//! Demands of authorization servers that this project did not write, found by `ridethrough-interop`.

use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{OAuth, Secret};
use serde_json::{Value, json};

use crate::support::{Answer, World, call, client, robot};

/// oidc-provider and nanoidp register no client without a redirect URI, and let no client use a grant that it
/// did not register for.
#[tokio::test]
async fn a_client_of_a_device_registers_a_redirect_uri_and_the_grant_of_devices() {
    let world = World::start().await;
    let oauth = OAuth::new("test app").store(MemoryStore::default()).device().person(robot());

    call(&client(&world, oauth)).await.unwrap();

    let body: Value = {
        let state = world.state();
        let registered = state.log.iter().find(|it| it.request.path == "/register").unwrap();
        serde_json::from_str(&registered.request.body).unwrap()
    };
    assert_eq!(body["redirect_uris"], json!(["http://127.0.0.1/callback"]));
    let grants = body["grant_types"].as_array().unwrap();
    assert!(grants.contains(&json!("urn:ietf:params:oauth:grant-type:device_code")), "{body}");
}

/// The Python SDK does so, and FastMCP on top of it.
#[tokio::test]
async fn a_server_that_misses_the_client_id_beside_basic_gets_it() {
    let world = World::start().await;
    world.state().clients.insert("by-hand".to_owned(), "one");
    let oauth = OAuth::new("test app").store(MemoryStore::default()).person(robot());
    let client = client(&world, oauth.client_id("by-hand").client_secret(Secret::new("s")));
    call(&client).await.unwrap();
    world.end_access_tokens();
    let missing = json!({"error": "invalid_client", "error_description": "Missing client_id"});
    world.state().refresh_answers.push_back(Answer::json(401, missing));

    call(&client).await.unwrap();

    let forms = world.token_forms("refresh_token");
    let ids: Vec<_> = forms.iter().map(|form| form.get("client_id").map(String::as_str)).collect();
    assert_eq!(ids, [None, Some("by-hand")]);
    assert_eq!(world.count("one", "/authorize"), 1);
}
