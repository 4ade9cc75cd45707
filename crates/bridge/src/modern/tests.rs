//! Messages that a host of the stateless revision sends and reads, one by one.

use serde_json::{Value, json};

use super::*;

const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"h","version":"1.10"},"io.modelcontextprotocol/logLevel":"info","progressToken":7}"#;

#[test]
fn a_request_says_who_asks_and_each_decides_for_itself_whether_it_does() {
    let modern = json_of(&format!(r#"{{"name":"x","_meta":{META}}}"#));
    let escaped = json_of(&format!(r#"{{"_meta":{}}}"#, META.replace('/', r"\/")));
    let older = json_of(
        r#"{"name":"io.modelcontextprotocol/protocolVersion","_meta":{"progressToken":1}}"#,
    );

    let sender = Sender::of("tools/call", Some(&modern)).unwrap().unwrap();

    assert_eq!(sender.identity.info.as_str(), r#"{"name":"h","version":"1.10"}"#);
    assert_eq!(sender.identity.capabilities.as_str(), r#"{"roots":{}}"#);
    assert_eq!(sender.level.unwrap().as_str(), r#""info""#);
    assert_eq!(sender.token.unwrap().as_str(), "7");
    assert!(Sender::of("tools/call", Some(&escaped)).unwrap().is_some());
    assert!(Sender::of("tools/call", Some(&older)).unwrap().is_none());
    assert!(Sender::of("tools/call", None).unwrap().is_none());
}

#[test]
fn what_is_missing_is_named_and_another_revision_is_told_which_there_are() {
    let params = |meta: &str| json_of(&format!(r#"{{"_meta":{meta}}}"#));
    let code = |method, params: Option<&Json>| {
        Sender::of(method, params).unwrap_err().error().unwrap().code
    };
    let no_capabilities = params(r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#);
    let no_text = params(&META.replace(r#""2026-07-28""#, "7"));
    let other = params(&META.replace("2026-07-28", "2031-01-01"));

    assert_eq!(code("tools/list", Some(&no_capabilities)), -32602);
    assert_eq!(code("tools/list", Some(&no_text)), -32602);
    assert_eq!(code(DISCOVER, None), -32602);
    assert_eq!(code(DISCOVER, Some(&json_of("{}"))), -32602);
    let refused: Value = Sender::of(DISCOVER, Some(&other)).unwrap_err().json().read().unwrap();
    assert_eq!(refused["code"], -32022);
    assert_eq!(refused["data"]["requested"], "2031-01-01");
    assert_eq!(refused["data"]["supported"][0], "2026-07-28");
}

#[test]
fn a_host_without_a_name_is_somebody_all_the_same() {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;

    let sender = Sender::of(DISCOVER, Some(&json_of(meta))).unwrap().unwrap();

    assert_eq!(sender.identity.info.as_str(), r#"{"name":"unknown","version":"0"}"#);
}

#[test]
fn what_the_client_says_by_itself_is_taken_out_and_nothing_else_is() {
    for (text, expected) in [
        (
            format!(r#"{{ "n": 1.10 , "_meta": {META} , "z":1e2 }}"#),
            r#"{ "n": 1.10 , "_meta": {"io.modelcontextprotocol/logLevel":"info","progressToken":7} , "z":1e2 }"#,
        ),
        (
            r#"{"n":1.10,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#.into(),
            r#"{"n":1.10}"#,
        ),
        (r#"{ "n": 1.10 }"#.into(), r#"{ "n": 1.10 }"#),
    ] {
        assert_eq!(passed_on(&json_of(&text)).as_str(), expected);
    }
}

#[test]
fn a_result_has_what_the_revision_wants_and_keeps_every_byte_of_its_own() {
    let server = json_of(r#"{"name":"s"}"#);
    let info = r#""io.modelcontextprotocol/serverInfo":{"name":"s"}"#;
    for (method, said, expected) in [
        (
            "tools/call",
            r#"{ "content":[ 1.10 ]}"#,
            format!(r#"{{ "content":[ 1.10 ],"resultType":"complete","_meta":{{{info}}}}}"#),
        ),
        (
            "tools/list",
            r#"{"_meta":{ "n":1e2 },"tools":[]}"#,
            format!(
                r#"{{"_meta":{{ "n":1e2 ,{info}}},"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#
            ),
        ),
        (
            "resources/read",
            r#"{"resultType":"complete","ttlMs":9,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
            r#"{"resultType":"complete","ttlMs":9,"_meta":{"io.modelcontextprotocol/serverInfo":{}},"cacheScope":"private"}"#.into(),
        ),
        (
            "resources/read",
            r#"{"resultType":"input_required","requestState":"s","_meta":[]}"#,
            r#"{"resultType":"input_required","requestState":"s","_meta":[]}"#.into(),
        ),
        ("tools/call", "7", "7".into()),
    ] {
        assert_eq!(dressed(&json_of(said), method, Some(&server)).as_str(), expected, "{said}");
    }
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
