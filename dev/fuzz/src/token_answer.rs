//! Answers of token endpoints, in all dialects.
//!
//! The first byte chooses the status, the second what was asked for and the content type; the rest is the
//! body.

use http::StatusCode;
use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::metadata::AuthorizationServer;
use ridethrough_oauth_core::store::{GrantKey, GrantRecord};
use ridethrough_oauth_core::token_answer::{TokenError, read, read_revocation};
use ridethrough_oauth_core::token_request::Asked;
use ridethrough_oauth_core::tokens::Tokens;
use ridethrough_oauth_core::{HttpAnswer, Secret, Timestamp};
use serde_json::{Map, Value};

/// Checks that trouble ends no grant, that a plain answer is read correctly, that no secret is ever printed,
/// and that tokens are unchanged after they were stored.
pub fn token_answer(input: &[u8]) {
    let [status, kind, body @ ..] = input else { return };
    let status = STATUSES[usize::from(*status) % STATUSES.len()];
    let status = StatusCode::from_u16(status).expect("a status");
    let asked = ASKED[usize::from(*kind) % ASKED.len()];
    let content = TYPES[usize::from(*kind / 8) % TYPES.len()];
    let answer = HttpAnswer::new(status, body).with_content_type(content);
    let read = read(&answer, asked, NOW);
    let is_in_trouble = status.is_server_error() || [408, 425, 429].contains(&status.as_u16());
    match &read {
        Ok(tokens) => {
            assert!(status.is_success(), "tokens with {status}");
            check_tokens(tokens);
        }
        Err(error) => check_error(error, body, is_in_trouble),
    }
    if let Some(object) = object(body).filter(|it| status.is_success() && is_plain(it)) {
        let tokens = read.expect("a plain answer grants tokens");
        check_plain(&tokens, &object);
    }
    if is_in_trouble {
        assert!(matches!(read_revocation(&answer), Err(TokenError::Transient { .. })));
    } else {
        assert_eq!(read_revocation(&answer).is_ok(), status.is_success());
    }
}

fn check_error(error: &TokenError, body: &[u8], is_in_trouble: bool) {
    let is_transient = matches!(error, TokenError::Transient { .. });
    assert!(is_transient || !is_in_trouble, "trouble was read as {error:?}");
    let words = format!("{error} {error:?}");
    assert!(!error.to_string().contains(char::is_control), "{words}");
    let is_final = matches!(error, TokenError::GrantDead { .. } | TokenError::ClientDead { .. });
    let is_form = body.contains(&b'=') && !body.contains(&b'<');
    assert!(!is_final || object(body).is_some() || is_form, "a page ended the grant");
}

fn check_tokens(tokens: &Tokens) {
    let access = tokens.access.expose();
    assert!(!access.is_empty() && access.bytes().all(|it| it.is_ascii_graphic()));
    assert!(tokens.refresh.as_ref().is_none_or(|it| !it.expose().is_empty()));
    assert!(tokens.expires_at.is_none_or(|end| end >= NOW), "it ended before it came");
    assert!(tokens.due_at() <= tokens.expires_at && tokens.due_at().is_none_or(|due| due >= NOW));

    // Other secrets do not change what is shown.
    let mut other = tokens.clone();
    other.access = Secret::new("x");
    other.refresh = tokens.refresh.as_ref().map(|_| Secret::new("x"));
    other.id_token = tokens.id_token.as_ref().map(|_| Secret::new("x"));
    assert_eq!(format!("{tokens:?}"), format!("{other:?}"));

    let record = record(tokens);
    let stored = GrantRecord::read(record.write().expose());
    assert_eq!(stored.as_ref(), Ok(&record), "what was stored is not what was granted");
    assert!(record.holds(tokens));
}

fn record(tokens: &Tokens) -> GrantRecord {
    let issuer = "https://as.example".to_owned();
    let document = r#"{"issuer":"https://as.example","token_endpoint":"https://as.example/token"}"#;
    let server = AuthorizationServer::from_json(document).expect("a document");
    let key = GrantKey {
        resource: SERVER.to_owned(),
        issuer,
        client_id: "client".to_owned(),
        profile: String::new(),
    };
    let mut record = GrantRecord::new(key, SERVER, Client::preregistered("client", None), &server);
    record.tokens = Some(tokens.clone());
    record
}

fn object(body: &[u8]) -> Option<Map<String, Value>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    serde_json::from_slice(body).ok()
}

/// Whether the answer mentions no error, and its token can be sent.
fn is_plain(object: &Map<String, Value>) -> bool {
    let token = object.get("access_token").and_then(Value::as_str).unwrap_or_default();
    let speaks_of_error = ["error", "error_code", "ok"].iter().any(|it| object.contains_key(*it));
    !token.is_empty() && token.bytes().all(|it| it.is_ascii_graphic()) && !speaks_of_error
}

fn check_plain(tokens: &Tokens, object: &Map<String, Value>) {
    let text = |name: &str| object.get(name)?.as_str().filter(|it| !it.is_empty());
    assert_eq!(Some(tokens.access.expose()), text("access_token"));
    assert_eq!(tokens.refresh.as_ref().map(Secret::expose), text("refresh_token"));
    assert_eq!(tokens.id_token.as_ref().map(Secret::expose), text("id_token"));
    assert_eq!(tokens.scope.as_deref(), text("scope"));
    let life = object.get("expires_in").and_then(Value::as_u64).filter(|it| *it < 1_000_000);
    if let Some(life) = life {
        let end = tokens.expires_at.map(|end| end.since(NOW).as_secs());
        assert_eq!(end, Some(life));
    }
}

const NOW: Timestamp = Timestamp::from_unix_secs(1_800_000_000);
const SERVER: &str = "https://mcp.example/mcp";
const STATUSES: [u16; 10] = [200, 201, 302, 400, 401, 403, 404, 429, 500, 503];
const TYPES: [&str; 3] = ["application/json", "text/html", "application/x-www-form-urlencoded"];
const ASKED: [Asked; 8] = [
    Asked::AuthorizationCode,
    Asked::ClientCredentials,
    Asked::DeviceAuthorization,
    Asked::DeviceCode,
    Asked::JwtBearer,
    Asked::RefreshToken,
    Asked::Revocation,
    Asked::TokenExchange,
];
