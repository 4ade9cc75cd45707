//! The headers that say what a request of the stateless era is about: its method, its name, and arguments that
//! the server wants to see there.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::era::Era;
use crate::exchange::Exchange;
use crate::headers::Headers;
use crate::mirror::{self, Mirrors};

use super::CONNECT;

/// The headers of a call: its own and, in the stateless era, those that say what it is about.
pub(super) fn headers_of(exchange: &Exchange, mirrors: Option<&Mirrors>) -> Headers {
    // Of the era it was sent in: what is left of a stream is asked for in the old session.
    if exchange.era() == Era::Legacy {
        return exchange.headers.clone();
    }
    let (method, params) = (on_the_wire(&exchange.call.method), exchange.params.text());
    let mut headers: HeaderMap =
        exchange.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    put_method(&mut headers, method);
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
    // A method that no header can carry is one that no server has: it will say so.
    if let Ok(value) = HeaderValue::from_str(method) {
        headers.insert(METHOD, value);
    }
}

/// The older era said hello, and asked whether anybody is there; this one asks who is.
pub(super) fn on_the_wire(method: &str) -> &str {
    match method {
        CONNECT | "ping" => DISCOVER,
        method => method,
    }
}

pub(super) const DISCOVER: &str = "server/discover";
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
