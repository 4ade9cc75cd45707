use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::client::AuthMethod;
use crate::timestamp::Timestamp;

const WRITTEN: Timestamp = Timestamp::from_unix_secs(1_000_000);

#[test]
fn the_name_of_a_file_is_the_md5_of_the_url_alone_if_there_is_nothing_else() {
    let arguments =
        RemoteArguments { url: "https://mcp.example/mcp".into(), ..RemoteArguments::default() };

    assert_eq!(arguments.tokens_file(), "15b9982bbc0f6c97e59b3c224d8cad5a_tokens.json");
}

#[test]
fn every_argument_is_part_of_the_name_in_its_order() {
    let map = |name: &str| BTreeMap::from([(name.to_owned(), "1".to_owned())]);
    let arguments = RemoteArguments {
        url: "https://mcp.example/mcp".into(),
        resource: Some("https://r".into()),
        authorize_parameters: map("audience"),
        headers: map("X-Key"),
        client_metadata_url: Some("https://c".into()),
        token_endpoint: Some("https://t".into()),
    };

    assert_eq!(arguments.hash(), "9bdb1c60ff5ff3880aa98a46c0d5e0f7");
}

#[test]
fn tokens_are_read_with_their_absolute_expiry() {
    let text = r#"{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r",
        "scope":"x","expires_at":1003600500,"requested_scope":"x y","issuer":"https://as.example"}"#;

    let tokens = read_tokens(text, WRITTEN).unwrap();

    assert_eq!(tokens.access.expose(), "a");
    assert_eq!(tokens.refresh.unwrap().expose(), "r");
    assert_eq!(tokens.expires_at, Some(Timestamp::from_unix_millis(1_003_600_500)));
}

#[test]
fn tokens_came_when_their_whole_life_began() {
    let text = r#"{"access_token":"a","expires_in":2,"expires_at":1000001990}"#;

    let tokens = read_tokens(text, WRITTEN).unwrap();

    assert_eq!(tokens.received_at, Timestamp::from_unix_millis(999_999_990));
}

#[test]
fn a_relative_expiry_counts_from_when_the_file_was_written() {
    let tokens = read_tokens(r#"{"access_token":"a","expires_in":60}"#, WRITTEN).unwrap();

    assert_eq!(tokens.expires_at, Some(WRITTEN + Duration::from_secs(60)));
}

#[test]
fn what_is_no_file_of_tokens_is_none() {
    for text in ["", "{}", "[]", r#"{"access_token":""}"#, r#"{"access_token":1}"#] {
        assert!(read_tokens(text, WRITTEN).is_none(), "{text}");
    }
}

#[test]
fn tokens_are_written_back_in_its_form_and_its_own_members_stay() {
    let old = r#"{"access_token":"a","expires_in":1,"requested_scope":"x y","issuer":"https://as.example"}"#;
    let mut new =
        read_tokens(r#"{"access_token":"b","refresh_token":"s","expires_in":60}"#, WRITTEN)
            .unwrap();
    new.scope = Some("x".into());

    let written: Value = serde_json::from_str(write_tokens(&new, old).expose()).unwrap();

    assert_eq!(
        written,
        json!({"access_token": "b", "token_type": "bearer", "refresh_token": "s", "scope": "x",
               "expires_in": 60, "expires_at": 1_000_060_000, "requested_scope": "x y",
               "issuer": "https://as.example"})
    );
}

#[test]
fn a_registered_client_is_read_with_its_issuer() {
    let text = r#"{"client_id":"c","client_secret":"s","client_secret_expires_at":0,
        "token_endpoint_auth_method":"client_secret_basic","redirect_uris":["http://localhost:4000/oauth/callback"],
        "issuer":"https://as.example"}"#;

    let client = client_info(text).unwrap();

    assert_eq!(client.issuer.as_deref(), Some("https://as.example"));
    assert_eq!(client.method, Some(AuthMethod::ClientSecretBasic));
    assert_eq!(client.secret_expires_at, None);
    assert!(!format!("{client:?}").contains("\"s\""));
}

#[test]
fn a_lease_is_live_for_thirty_seconds_of_a_running_process() {
    let lease = Lease::new(7, [0xff; 16], WRITTEN);
    let after = |secs| WRITTEN + Duration::from_secs(secs);

    assert!(lease.is_live(after(29), Holder::Running));
    assert!(!lease.is_live(after(30), Holder::Running));
    assert!(!lease.is_live(after(1), Holder::Gone));
    assert!(!lease.is_live(WRITTEN.minus(Duration::from_secs(1)), Holder::Running));
}

#[test]
fn a_lease_is_written_as_it_is_there() {
    let lease = Lease::new(7, [0xff; 16], WRITTEN);

    assert_eq!(
        lease.write(),
        r#"{"pid":7,"nonce":"ffffffff-ffff-4fff-bfff-ffffffffffff","at":1000000000}"#
    );
    assert_eq!(Lease::read(&lease.write()), Some(lease));
    assert_eq!(Lease::read("half a le"), None);
}
