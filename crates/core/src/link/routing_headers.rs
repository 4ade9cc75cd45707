//! The headers that describe a request of the stateless era: its method, its name, and the arguments that the
//! server wants mirrored.

use http::{HeaderMap, HeaderName, HeaderValue};
use ridethrough_wire::era::Era;
use ridethrough_wire::headers::Headers;
use ridethrough_wire::mirror::{self, Mirrors};

use crate::exchange::Exchange;

use super::CONNECT;

/// Returns the headers of a call: its own and, in the stateless era, those that describe it.
pub(super) fn headers_of(exchange: &Exchange, mirrors: Option<&Mirrors>) -> Headers {
    // The era that the call was sent in counts: the rest of a stream is requested in the old session.
    if exchange.era() == Era::Legacy {
        return exchange.headers.clone();
    }
    let (method, params) = (on_the_wire(&exchange.call.method), exchange.params.text());
    let mut headers: HeaderMap =
        exchange.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    put_method(&mut headers, method);
    if exchange.own_routing_headers {
        return headers.into();
    }
    if let Some(name) = mirror::name(method, params) {
        headers.insert(NAME, name);
    }
    let arguments = params.and_then(|params| params.member("arguments"));
    if let Some((mirrors, arguments)) = mirrors.zip(arguments) {
        headers.extend(mirrors.headers(&arguments));
    }
    headers.into()
}

/// Names the method in a header.
pub(super) fn put_method(headers: &mut HeaderMap, method: &str) {
    // No server has a method that a header cannot carry: it will refuse the body.
    if let Ok(value) = HeaderValue::from_str(method) {
        headers.insert(METHOD, value);
    }
}

/// Returns the method's name in the stateless era, where `server/discover` replaces `initialize` and `ping`.
pub(super) fn on_the_wire(method: &str) -> &str {
    match method {
        CONNECT | "ping" => DISCOVER,
        method => method,
    }
}

pub(super) const DISCOVER: &str = "server/discover";
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
