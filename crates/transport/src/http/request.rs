//! Writing one request as HTTP.

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST};
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use http_body_util::Full;
use ridethrough_core::{Outgoing, Verb};

use super::HttpShared;
use crate::credentials::Token;

/// Builds a request; `None` if it must repeat something that the server sent and that no header can carry.
/// The client's own headers were checked when they were set.
pub(super) fn build(
    shared: &HttpShared,
    outgoing: Outgoing,
    token: Option<&Token>,
) -> Option<Request<Bytes>> {
    let to = outgoing.to;
    let (method, body, last_event_id) = match outgoing.verb {
        Verb::Delete => (Method::DELETE, Bytes::new(), None),
        Verb::Get { last_event_id } => (Method::GET, Bytes::new(), last_event_id),
        Verb::Post { body } => (Method::POST, body, None),
    };
    let mut request = Request::new(body);
    *request.uri_mut() = shared.endpoint.uri(to.target.as_deref())?;
    let headers = request.headers_mut();
    headers.reserve(shared.headers.len() + 8);
    headers.extend(shared.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    // A call's own header replaces the client's.
    for (name, _) in outgoing.headers.iter() {
        headers.remove(name);
    }
    for (name, value) in outgoing.headers.iter() {
        headers.append(name.clone(), value.clone());
    }
    headers.insert(ACCEPT, accept(&method));
    // Without this header a server may compress its answer (RFC 9110, 12.5.3), and events would wait in its
    // compressor.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if method == Method::POST {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Some(session) = &to.session {
        headers.insert(SESSION, secret(session.as_str())?);
    }
    if let Some(version) = to.version {
        headers.insert(VERSION, HeaderValue::from_static(version.as_str()));
    }
    if let Some(id) = last_event_id {
        headers.insert(LAST_EVENT_ID, secret(id.as_str())?);
    }
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, token.header()?);
    }
    if let Some(cookies) = shared.cookies.header(to.generation) {
        headers.insert(COOKIE, cookies);
    }
    *request.method_mut() = method;
    if let Some(proof) = token.and_then(Token::proof)
        && let Some(value) = proof.prove(request.method(), request.uri())
    {
        request.headers_mut().insert(DPOP, value);
    }
    Some(request)
}

/// Checks a header that the application sets, and returns it.
pub fn checked_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let Ok(name) = name.parse::<HeaderName>() else {
        return Err(format!("`header` is named `{name}`, must be the name of a header"));
    };
    if name == AUTHORIZATION {
        return Err("`header` is `authorization`, must be given by `credentials`, \
                    which can also renew it: `StaticToken::new(..)`, or `Token::authorization(..)`"
            .to_owned());
    }
    if OURS.contains(&name.as_str()) {
        return Err(format!(
            "`header` is `{name}`, must be one that the client does not set itself"
        ));
    }
    // The value may be a secret: it is not shown, here or in any log.
    match secret(value) {
        Some(value) if value.to_str().is_ok() => Ok((name, value)),
        _ => Err(format!("the value of header `{name}` must be visible ASCII")),
    }
}

/// Returns the request in the form of HTTP/1.1: the path alone, and the host in a header.
pub(super) fn for_http1(mut request: Request<Bytes>, host: HeaderValue) -> Request<Full<Bytes>> {
    request.headers_mut().insert(HOST, host);
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
    *request.version_mut() = Version::HTTP_11;
    request.map(Full::new)
}

fn accept(method: &Method) -> HeaderValue {
    HeaderValue::from_static(match *method {
        Method::GET => "text/event-stream",
        _ => "application/json, text/event-stream",
    })
}

/// Returns a value that logs of lower layers must not show.
fn secret(value: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_bytes(value.as_bytes()).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// The headers that the client sets itself, and the application must not.
const OURS: [&str; 13] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authorization",
    "transfer-encoding",
];

const DPOP: HeaderName = HeaderName::from_static("dpop");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
