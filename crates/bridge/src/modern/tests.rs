//! Messages that a host of the stateless revision sends and reads, one by one.

use serde_json::{Value, json};

use super::*;

#[test]
fn what_is_missing_and_another_revision_have_the_codes_of_the_revision() {
    let other = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}"#;
    let no_version = sender(DISCOVER, None).unwrap_err();

    let refused: Value =
        sender(DISCOVER, Some(&json_of(other))).unwrap_err().json().read().unwrap();

    assert_eq!(no_version.error().unwrap().code, -32602);
    assert_eq!(refused["code"], -32022);
    assert_eq!(refused["data"]["requested"], "2031-01-01");
    assert_eq!(refused["data"]["supported"][0], "2026-07-28");
}

#[test]
fn a_host_without_a_name_is_somebody_all_the_same() {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;

    let sender = sender(DISCOVER, Some(&json_of(meta))).unwrap().unwrap();

    assert_eq!(identity(&sender).info.as_str(), r#"{"name":"unknown","version":"0"}"#);
}

#[test]
fn a_server_is_discovered_by_what_it_said_to_initialize() {
    let said = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}},"logging":{}},"serverInfo":{"name":"a","version":"1.10"},"instructions":"be kind"}"#;

    let discovered: Value = discovered(&json_of(said)).read().unwrap();

    assert_eq!(
        discovered,
        json!({
            "resultType": "complete",
            "supportedVersions":
                ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            "instructions": "be kind",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "a", "version": "1.10"}},
        })
    );
}

fn json_of(text: &str) -> Json {
    Json::new(text.to_owned()).unwrap()
}
