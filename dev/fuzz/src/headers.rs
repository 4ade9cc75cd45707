//! Heads of answers: `Content-Type`, `Retry-After`, `WWW-Authenticate`, `Keep-Alive`, `Location` and the
//! session id, compared with rules that are written for readability.
//!
//! The first byte chooses the status; the rest are lines of headers.

use std::time::Duration;

use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::response::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use ridethrough::credentials::Demand;
use ridethrough::probe::{keep_alive, read_head};
use ridethrough::transport::{AnswerHead, Endpoint};
use ridethrough_core::head::{Content, Redirect};

use crate::rfc9110::expected_params;

/// Checks that a head says what its headers say, nothing that cannot be sent back to the server, and no
/// secret of a redirect.
pub fn headers(input: &[u8]) {
    let [status, lines @ ..] = input else { return };
    let parts = parts(STATUSES[usize::from(*status) % STATUSES.len()], lines);
    let endpoint = Endpoint::parse(ORIGIN).expect("a URL");
    let head = read_head(&parts, &endpoint, "/a/mcp?x=1");
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());

    assert_eq!(head.content, expected_content(text(CONTENT_TYPE.as_str())));
    check_retry_after(&head, text(RETRY_AFTER.as_str()));
    check_challenge(&head, &parts);
    if let Some(redirect) = &head.redirect {
        check_redirect(redirect, &endpoint, text(LOCATION.as_str()).unwrap_or_default());
    }
    if let Some(session) = &head.session {
        assert_eq!(Some(session.as_str()), text("mcp-session-id"));
        assert!(HeaderValue::from_str(session.as_str()).is_ok(), "it cannot be sent back");
    }
    check_keep_alive(keep_alive(&parts.headers), text("keep-alive"));
}

fn parts(status: u16, lines: &[u8]) -> Parts {
    let mut answer = Response::new(());
    *answer.status_mut() = StatusCode::from_u16(status).expect("a status");
    for line in lines.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = match &line[..colon] {
            // One letter for each header that is read, so that the fuzzer finds them.
            [letter] => NAMES.iter().find(|name| name.starts_with(char::from(*letter))).copied(),
            name => str::from_utf8(name).ok(),
        };
        let name = name.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok());
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let Some((name, value)) = name.zip(value.ok()) {
            answer.headers_mut().append(name, value);
        }
    }
    answer.into_parts().0
}

fn expected_content(value: Option<&str>) -> Content {
    let essence = value.unwrap_or_default().to_ascii_lowercase();
    match essence.find(';').map_or(&*essence, |end| &essence[..end]).trim() {
        "" => Content::Nothing,
        "application/json" => Content::Json,
        "text/event-stream" => Content::EventStream,
        "text/html" => Content::Html,
        _ => Content::Other,
    }
}

fn check_retry_after(head: &AnswerHead, value: Option<&str>) {
    let value = value.unwrap_or_default().trim();
    let is_number = !value.is_empty() && value.chars().all(|it| it.is_ascii_digit());
    if is_number {
        let century = 100 * 365 * 24 * 60 * 60;
        let seconds = value.parse().unwrap_or(u64::MAX).min(century);
        assert_eq!(head.retry_after, Some(Duration::from_secs(seconds)));
    }
    if value.starts_with('-') || value.is_empty() {
        assert!(head.retry_after.unwrap_or_default().is_zero(), "a time before now");
    }
}

/// Checks the challenge where a line follows RFC 9110.
fn check_challenge(head: &AnswerHead, parts: &Parts) {
    let lines: Vec<_> = parts.headers.get_all(WWW_AUTHENTICATE).iter().collect();
    assert_eq!(head.challenge.is_some(), !lines.is_empty());
    let [line] = lines.as_slice() else { return };
    let Some(params) = line.to_str().ok().and_then(expected_params) else { return };
    let param = |name: &str| {
        let found = params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let expected = match param("error") {
        Some("insufficient_scope") => Demand::Scope(param("scope").unwrap_or_default().into()),
        _ => Demand::Credentials,
    };
    assert_eq!(head.challenge.as_ref().map(|it| &it.demand), Some(&expected));
}

fn check_redirect(redirect: &Redirect, endpoint: &Endpoint, location: &str) {
    match redirect {
        Redirect::SameOrigin(path) => {
            let url = format!("{}{path}", endpoint.origin());
            let there = Endpoint::parse(&url).expect("a path that can be asked for");
            assert_eq!(there.origin(), endpoint.origin(), "{path} leads elsewhere");
            let scheme = if location.starts_with("//") { "https:" } else { "" };
            let is_ours = |it: &Endpoint| {
                let is_host = it.host_to_resolve().eq_ignore_ascii_case("example.com");
                is_host && it.is_tls() && it.port() == 443
            };
            // A fragment is not sent, and a URL may have spaces around it.
            let asked_for = location.split('#').next().unwrap_or_default();
            let there = Endpoint::parse(&format!("{scheme}{asked_for}"));
            assert!(there.is_ok_and(|it| is_ours(&it)) || !is_absolute(location), "{location}");
            assert!(path.starts_with('/') && !redirect.shown().contains('?'), "{path}");
        }
        Redirect::OtherOrigin(url) => {
            assert!(location.contains("//") && url.contains("://"), "{url} is no URL");
            let shown = redirect.shown();
            let origin = shown.split_once("://").map_or("", |(_, origin)| origin);
            assert!(!origin.contains(['/', '?', '#', '@', '\\']), "{shown} shows more");
        }
    }
}

fn is_absolute(location: &str) -> bool {
    let location = location.to_ascii_lowercase();
    ["//", "http://", "https://"].iter().any(|start| location.starts_with(start))
}

fn check_keep_alive(read: Option<Duration>, value: Option<&str>) {
    let Some(read) = read else { return };
    let value = value.unwrap_or_default().to_ascii_lowercase();
    let is_there = value.split(',').any(|part| {
        let (name, seconds) = part.split_once('=').unwrap_or_default();
        name.trim() == "timeout" && seconds.trim().parse() == Ok(read.as_secs())
    });
    assert!(is_there, "{read:?} is not what the server said");
}

const ORIGIN: &str = "https://example.com/a/mcp?x=1";
const STATUSES: [u16; 6] = [200, 307, 401, 403, 404, 503];
/// The headers that are read, each with another first letter.
const NAMES: [&str; 6] =
    ["content-type", "keep-alive", "location", "mcp-session-id", "retry-after", "www-authenticate"];
