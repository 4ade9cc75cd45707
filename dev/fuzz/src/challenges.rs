//! `WWW-Authenticate` as the login reads it: each line of the input is a line of the header.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, StatusCode};
use ridethrough_oauth_core::challenge::{Challenge, Challenges, Demand, Scheme};

use crate::rfc9110::expected_params;

/// Checks that challenges survive being written and read again, that a line which follows the grammar is read
/// as a slow reader does, and that more scope is asked for only if the server says so.
pub fn challenges(input: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in input.split(|byte| *byte == b'\n') {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(WWW_AUTHENTICATE, value);
        }
    }
    let read = Challenges::read(&headers);
    assert!(read.iter().count() <= 16, "a response may make us keep any number of challenges");
    for challenge in read.iter() {
        assert_eq!(read_again(challenge).iter().collect::<Vec<_>>(), [challenge]);
    }
    check_demand(&read);
    check_line(&headers, &read);
}

fn read_again(challenge: &Challenge) -> Challenges {
    let value = HeaderValue::from_bytes(challenge.to_string().as_bytes());
    let value = value.expect("what was in a header fits into one");
    Challenges::read(&[(WWW_AUTHENTICATE, value)].into_iter().collect())
}

fn check_demand(read: &Challenges) {
    let has_error = |error: &str| {
        let ours = read.iter().filter(|it| it.scheme != Scheme::Other);
        ours.into_iter().any(|it| it.error.as_deref() == Some(error))
    };
    for status in [StatusCode::OK, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        match read.demand(status) {
            Some(Demand::MoreScope(_)) => assert!(has_error("insufficient_scope")),
            Some(Demand::DpopNonce(_)) => assert!(read.dpop_nonce().is_some(), "there is none"),
            Some(Demand::Token) => {
                assert!(status == StatusCode::UNAUTHORIZED || has_error("invalid_token"));
            }
            None => assert_ne!(status, StatusCode::UNAUTHORIZED, "401 asks for a token"),
        }
    }
}

/// Compares a response of one line with one challenge, where it follows RFC 9110.
fn check_line(headers: &HeaderMap, read: &Challenges) {
    let lines: Vec<_> = headers.get_all(WWW_AUTHENTICATE).iter().collect();
    let [line] = lines.as_slice() else { return };
    let Some(params) = line.to_str().ok().and_then(expected_params) else { return };
    let param = |name: &str| {
        let found = params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let all: Vec<_> = read.iter().collect();
    assert_eq!(all.len(), 1, "one challenge was read as several, or none");
    let challenge = all[0];
    assert_eq!(challenge.realm.as_deref(), param("realm"));
    assert_eq!(challenge.scope.as_deref(), param("scope"));
    assert_eq!(challenge.error.as_deref(), param("error"));
    assert_eq!(challenge.error_description.as_deref(), param("error_description"));
    assert_eq!(challenge.resource_metadata.as_deref(), param("resource_metadata"));
    assert_eq!(challenge.algs.as_deref(), param("algs"));
}
