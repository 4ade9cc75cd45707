//! The CORS headers that a browser needs before a page of another origin may call.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::reply::{Reply, empty};

/// Answers a preflight request. The page may send all the headers that it asks for: the access policy has
/// allowed its origin, and clients have headers of their own.
pub(crate) fn preflight(asked: &HeaderMap) -> Reply {
    let usual = HeaderValue::from_static(USUAL);
    let allowed = asked.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned().unwrap_or(usual);
    let mut reply = empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    reply
}

/// Lets the page of this origin, which the policy has allowed, read the answer.
pub(crate) fn let_read<B>(response: &mut Response<B>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(TOLD));
    headers.insert(VARY, HeaderValue::from_static("Origin"));
}

const USUAL: &str =
    "Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id";
const TOLD: &str = "Mcp-Session-Id, Retry-After, WWW-Authenticate";
