use serde_json::{Value, json};

use super::*;
use crate::client::Client;
use crate::metadata::AuthorizationServer;
use crate::secret::Secret;
use crate::timestamp::Timestamp;
use crate::tokens::Tokens;

fn key() -> GrantKey {
    GrantKey {
        resource: "https://mcp.example/mcp".into(),
        issuer: "https://as.example".into(),
        client_id: "c".into(),
        profile: String::new(),
    }
}

fn record() -> GrantRecord {
    let document = r#"{"issuer":"https://as.example","token_endpoint":"https://as.example/token"}"#;
    let server = AuthorizationServer::from_json(document).unwrap();
    let client = Client::preregistered("c", Some(Secret::new("cl1ent")));
    let mut record = GrantRecord::new(key(), "https://mcp.example/mcp", client, &server);
    let mut tokens = Tokens::new(Secret::new("acc3ss"), Timestamp::from_unix_secs(1));
    tokens.refresh = Some(Secret::new("r3fresh"));
    record.tokens = Some(tokens);
    record
}

#[test]
fn each_part_of_a_key_has_its_own_file() {
    let names = [
        key(),
        GrantKey { resource: "https://mcp.example/mcpx".into(), ..key() },
        GrantKey { issuer: "https://as.example/".into(), ..key() },
        GrantKey { client_id: "d".into(), ..key() },
        GrantKey { profile: "work".into(), ..key() },
        // The border between two parts.
        GrantKey { issuer: "https://as.examplec".into(), client_id: String::new(), ..key() },
    ]
    .map(|key| key.file_name());

    for (at, name) in names.iter().enumerate() {
        assert!(!names[..at].contains(name), "{name}");
    }
}

/// A change would log every user out.
#[test]
fn the_name_of_a_file_never_changes() {
    assert_eq!(key().file_name(), "mcp.example-30f0d1c1b2513ce5bbe417706742ba53.json");
}

#[test]
fn the_name_of_a_file_leads_nowhere_else() {
    let key = GrantKey { resource: "../../etc/passwd".into(), profile: "/x".into(), ..key() };

    assert!(key.file_name().starts_with("server-"));
    assert!(!key.file_name().contains('/'));
}

#[test]
fn a_record_reads_as_it_was_written() {
    let record = record();

    let read = GrantRecord::read(record.write().expose()).unwrap();

    assert_eq!(read, record);
    assert_eq!(read.server().unwrap().token_endpoint.as_str(), "https://as.example/token");
}

#[test]
fn members_of_a_newer_program_are_kept() {
    let mut value: Value = serde_json::from_str(record().write().expose()).unwrap();
    value["colour"] = json!({"a": 1});

    let read = GrantRecord::read(&value.to_string()).unwrap();

    let written: Value = serde_json::from_str(read.write().expose()).unwrap();
    assert_eq!(written["colour"], json!({"a": 1}));
}

#[test]
fn a_record_of_a_newer_layout_is_left_alone() {
    let mut value: Value = serde_json::from_str(record().write().expose()).unwrap();
    value["version"] = 2.into();

    assert_eq!(GrantRecord::read(&value.to_string()), Err(RecordError::Newer(2)));
    assert_eq!(GrantRecord::read("{"), Err(RecordError::Unreadable));
    assert_eq!(GrantRecord::read("{}"), Err(RecordError::Unreadable));
}

#[test]
fn only_the_tokens_that_are_stored_may_be_deleted() {
    let record = record();
    let ours = record.tokens.clone().unwrap();
    let other = Tokens { refresh: Some(Secret::new("newer")), ..ours.clone() };

    assert!(record.holds(&ours));
    assert!(!record.holds(&other));
}

#[test]
fn a_record_never_prints_its_secrets() {
    let printed = format!("{:?} {:?}", record(), record().write());

    for secret in ["acc3ss", "r3fresh", "cl1ent"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[test]
fn the_status_of_a_grant_is_read_from_its_record() {
    let at = Timestamp::from_unix_secs;
    let status = |change: fn(&mut GrantRecord), now| {
        let mut record = record();
        record.tokens.as_mut().unwrap().expires_at = Some(at(3601));
        change(&mut record);
        GrantStatus::of(Some(&record), at(now)).to_string()
    };
    let alone = |record: &mut GrantRecord| record.tokens.as_mut().unwrap().refresh = None;

    assert_eq!(GrantStatus::of(None, at(1)).to_string(), "no-auth");
    assert_eq!(status(|_| (), 1), "ok");
    assert_eq!(status(|_| (), 3600), "ok");
    assert_eq!(status(alone, 3600), "expiring");
    assert_eq!(status(|_| (), 3601), "expired-refreshable");
    assert_eq!(status(alone, 3601), "login-needed");
    assert_eq!(status(|it| it.tokens = None, 1), "login-needed");
    assert_eq!(status(|it| it.end = Some(StoredEnd::ClientDead), 3601), "client-dead");
    assert_eq!(status(|it| it.end = Some(StoredEnd::GrantDead), 3601), "login-needed");
}

#[test]
fn an_account_is_a_server_and_a_profile_and_has_a_file_of_its_own() {
    let server = HttpUrl::parse("https://mcp.example/mcp?key=s3cret").unwrap();
    let usual = AccountKey::new(&server, "");
    let work = AccountKey::new(&server, "work");

    assert_eq!(usual.server_url, "https://mcp.example/mcp");
    assert_ne!(usual.file_stem(), work.file_stem());
    assert!(usual.file_stem().starts_with("mcp.example-"));
    assert!(usual.owns(&record()));
    assert!(!work.owns(&record()));
}
