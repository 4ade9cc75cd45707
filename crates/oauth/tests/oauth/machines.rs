//! Clients without a person, and people on another device.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ridethrough_oauth::person::from_fn;
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{ClientKey, OAuth, Secret, SigningKey};

use crate::support::{World, builder, call, client};

#[tokio::test]
async fn a_client_with_a_secret_has_tokens_of_its_own() {
    let world = World::start().await;
    let key = ClientKey::Secret(Secret::new("s"));
    let oauth = OAuth::client_credentials("job", key).store(MemoryStore::default());

    assert_eq!(call(&client(&world, oauth)).await.unwrap(), "hello");

    assert_eq!(world.token_forms("client_credentials")[0]["resource"], world.mcp_url());
    assert!(world.sent_to("one").contains("Basic am9iOnM="));
    assert_eq!(world.count("one", "/authorize") + world.count("one", "/register"), 0);
}

#[tokio::test]
async fn tokens_of_a_client_are_asked_for_again_when_they_end() {
    let world = World::start().await;
    let key = ClientKey::Secret(Secret::new("s"));
    let oauth = OAuth::client_credentials("job", key).store(MemoryStore::default());
    let client = client(&world, oauth);
    call(&client).await.unwrap();
    world.clock.pass(Duration::from_secs(4000));
    world.end_access_tokens();

    assert_eq!(call(&client).await.unwrap(), "hello");

    assert_eq!(world.token_forms("client_credentials").len(), 2);
}

#[tokio::test]
async fn a_client_with_a_key_signs_for_the_issuer() {
    let world = World::start().await;
    let (pem, pair) = es256();
    let key = ClientKey::PrivateKey(SigningKey::es256(&pem).unwrap().with_key_id("k1"));
    let oauth = OAuth::client_credentials("job", key).store(MemoryStore::default());

    call(&client(&world, oauth)).await.unwrap();

    let form = &world.token_forms("client_credentials")[0];
    assert!(form["client_assertion_type"].ends_with("jwt-bearer"));
    assert!(!form.contains_key("client_secret"));
    let (signed, signature) = form["client_assertion"].rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key());
    public.verify(signed.as_bytes(), &signature).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(claims["aud"], world.state().one);
}

#[tokio::test]
async fn the_word_of_a_platform_is_exchanged_for_tokens() {
    let world = World::start().await;
    let oauth = OAuth::workload_identity("job", || async { Ok(Secret::new("c4nary-jwt")) });

    call(&client(&world, oauth.store(MemoryStore::default()))).await.unwrap();

    let form = &world.token_forms(JWT_BEARER)[0];
    assert_eq!(form["assertion"], "c4nary-jwt");
    assert_eq!(form["client_id"], "job");
    assert_eq!(form["resource"], world.mcp_url());
}

#[tokio::test]
async fn a_word_that_is_refused_is_sent_once_and_no_other_grant_is_tried() {
    let world = World::start().await;
    let oauth = OAuth::workload_identity("job", || async { Ok(Secret::new("c4nary-bad")) });

    let error = call(&client(&world, oauth.store(MemoryStore::default()))).await.unwrap_err();

    assert!(error.to_string().contains("the grant has ended"), "{error}");
    assert!(!error.to_string().contains("c4nary"), "{error}");
    assert_eq!(world.count("one", "/token"), 1);
}

#[test]
fn what_is_no_key_is_refused_without_being_shown() {
    for text in ["", "s3cret", "-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----"] {
        for error in [SigningKey::es256(text).unwrap_err(), SigningKey::rs256(text).unwrap_err()] {
            assert!(!format!("{error} {error:?}").contains("s3cret"));
        }
    }
    assert!(SigningKey::rs256(&es256().0).is_err());
}

#[tokio::test]
async fn a_person_on_another_device_types_in_a_code() {
    let world = World::start().await;
    world.state().device_pending = 1;
    let shown = Arc::new(Mutex::new(None));
    let show = shown.clone();
    let oauth = OAuth::new("test app").client_id("by-hand").device();
    let oauth = oauth.store(MemoryStore::default()).person(from_fn(move |prompt| {
        *show.lock().unwrap() = prompt.user_code.clone();
    }));
    let account = oauth.account(&builder(&world)).unwrap();

    let status = account.log_in().await.unwrap();

    assert!(status.is_refreshable);
    assert_eq!(shown.lock().unwrap().as_deref(), Some("ABCD-EFGH"));
    let asked = world.token_forms("urn:ietf:params:oauth:grant-type:device_code");
    assert_eq!(asked.len(), 2);
}

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Creates a key for one test.
fn es256() -> (String, EcdsaKeyPair) {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let der = pair.to_pkcs8v1().unwrap();
    let text = STANDARD.encode(der.as_ref());
    let kind = "PRIVATE KEY";
    (format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n"), pair)
}
