use serde_json::{Value, json};

use super::*;
use crate::address::{HttpUrl, NearHosts};

fn document() -> Value {
    json!({
        "issuer": "https://as.example",
        "authorization_endpoint": "https://login.example/authorize",
        "token_endpoint": "https://as.example/token",
        "registration_endpoint": "https://as.example/register",
        "scopes_supported": ["a"],
    })
}

fn read(document: &Value) -> Result<AuthorizationServer, DocumentError> {
    let server = HttpUrl::parse("https://mcp.example/mcp").unwrap();
    AuthorizationServer::read(document.to_string().as_bytes(), &server, NearHosts::Refused)
}

#[test]
fn a_document_without_a_required_member_is_none() {
    for member in ["issuer", "token_endpoint"] {
        let mut document = document();
        document.as_object_mut().unwrap().remove(member);

        assert_eq!(read(&document), Err(DocumentError::Missing(member)));
    }
    for body in ["<!doctype html>", "", "[]", "null", "{"] {
        assert_eq!(ProtectedResource::read(body.as_bytes()), Err(DocumentError::NotAnObject));
    }
    let lonely = br#"{"resource":"https://mcp.example","authorization_servers":[]}"#;
    assert_eq!(
        ProtectedResource::read(lonely),
        Err(DocumentError::Missing("authorization_servers"))
    );
}

#[test]
fn an_endpoint_that_must_not_be_used_spoils_the_document_only_if_it_is_needed() {
    let mut bad = document();
    bad["token_endpoint"] = "http://as.example/token".into();
    assert!(matches!(read(&bad), Err(DocumentError::Address { member: "token_endpoint", .. })));

    let mut tolerable = document();
    tolerable["registration_endpoint"] = "file:///etc/passwd".into();
    assert_eq!(read(&tolerable).unwrap().registration_endpoint, None);
}

#[test]
fn members_of_the_wrong_type_count_as_absent() {
    let mut document = document();
    document["scopes_supported"] = "a b".into();
    document["authorization_response_iss_parameter_supported"] = "yes".into();

    let server = read(&document).unwrap();

    assert_eq!(server.scopes_supported, None);
    assert!(!server.sends_issuer);
}

#[test]
fn a_stored_document_reads_as_it_was() {
    let server = read(&document()).unwrap();
    assert_eq!(AuthorizationServer::from_json(&server.to_json().to_string()), Ok(server));

    let mcp = HttpUrl::parse("https://mcp.example/mcp").unwrap();
    let default = AuthorizationServer::at_default_paths(&mcp).unwrap();
    assert_eq!(AuthorizationServer::from_json(&default.to_json().to_string()), Ok(default));
}

#[test]
fn a_token_endpoint_on_another_origin_than_at_the_login_is_noticed() {
    let pins = PinnedEndpoints::of(&read(&document()).unwrap());
    assert_eq!(pins.check(&read(&document()).unwrap()), Ok(()));

    for (member, url) in [
        ("token_endpoint", "https://evil.example/token"),
        ("registration_endpoint", "https://evil.example/register"),
        ("issuer", "https://as.example/"),
    ] {
        let mut swapped = document();
        swapped[member] = url.into();

        assert_eq!(pins.check(&read(&swapped).unwrap()).unwrap_err().name, member);
    }
    let mut moved_path = document();
    moved_path["token_endpoint"] = "https://as.example/v2/token".into();
    assert_eq!(pins.check(&read(&moved_path).unwrap()), Ok(()));
}
