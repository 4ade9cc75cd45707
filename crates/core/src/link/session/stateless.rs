//! What every request of the stateless era carries, because the server remembers nothing: in its body
//! who asks and in which revision, in its headers what it is about.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::Sessions;
use crate::era::{Era, Version};
use crate::exchange::Exchange;
use crate::headers::Headers;
use crate::ids::AttemptId;
use crate::link::CONNECT;
use crate::link::Identity;
use crate::link::context::Context;
use crate::message::{Json, Meta, Params, notification_body, stateless_notification_body};
use crate::mirror::{self, Mirrors};
use crate::output::Address;

impl Sessions {
    /// A request in the form of the era.
    pub(crate) fn body(&self, era: Era, params: &Params, wire_id: u64, method: &str) -> Bytes {
        match era {
            Era::Legacy => params.request_body(wire_id, method),
            Era::Modern => params.stateless_body(wire_id, on_the_wire(method), &self.meta()),
        }
    }

    /// The members of `_meta` that a stateless server wants with every request, and the log level that the
    /// application asked for.
    pub(crate) fn meta(&self) -> Meta {
        let Identity { info, capabilities } = &self.identity;
        let version = Version::V2026_07_28;
        let always = format!(
            r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{}"#,
            capabilities.as_str(),
            info.as_str()
        );
        Meta { always, log_level: self.restore.log_level() }
    }

    /// A notification in the form of the era.
    pub(crate) fn notification(&self, method: &str, params: Option<&Json>) -> Bytes {
        match self.era() {
            Era::Legacy => notification_body(method, params),
            Era::Modern => stateless_notification_body(method, params, &self.meta()),
        }
    }

    /// The headers of a request that the link makes for itself.
    pub(crate) fn own_headers(&self, method: &str) -> Headers {
        if self.era() == Era::Legacy {
            return Headers::default();
        }
        let mut headers = HeaderMap::new();
        put_routing(&mut headers, method);
        headers.into()
    }

    /// Asks the server what it speaks, in the words of the stateless era.
    pub(crate) fn send_discover(
        &mut self,
        cx: &mut Context,
        wire_id: u64,
        to: Address,
    ) -> AttemptId {
        let ours = self.meta();
        let body = Params::new(None, false).stateless_body(wire_id, DISCOVER, &ours);
        let mut headers = HeaderMap::new();
        put_routing(&mut headers, DISCOVER);
        let to = Address { version: Some(Version::V2026_07_28), ..to };
        self.send(cx, body, to, headers.into())
    }
}

/// The headers of a call: its own and, in the stateless era, those that say what it is about.
pub(crate) fn headers_of(exchange: &Exchange, mirrors: Option<&Mirrors>) -> Headers {
    // Of the era it was sent in: what is left of a stream is asked for in the old session.
    if exchange.era() == Era::Legacy {
        return exchange.headers.clone();
    }
    let (method, params) = (on_the_wire(&exchange.call.method), exchange.params.text());
    let mut headers: HeaderMap =
        exchange.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    put_routing(&mut headers, method);
    if let Some(name) = mirror::name(method, params) {
        headers.insert(NAME, name);
    }
    let arguments = params.and_then(|params| params.member("arguments"));
    if let Some((mirrors, arguments)) = mirrors.zip(arguments) {
        headers.extend(mirrors.headers(&arguments));
    }
    headers.into()
}

fn put_routing(headers: &mut HeaderMap, method: &str) {
    // A method that no header can carry is one that no server has: it will say so.
    if let Ok(value) = HeaderValue::from_str(method) {
        headers.insert(METHOD, value);
    }
}

/// The older era said hello, and asked whether anybody is there; this one asks who is.
fn on_the_wire(method: &str) -> &str {
    match method {
        CONNECT | "ping" => DISCOVER,
        method => method,
    }
}

const DISCOVER: &str = "server/discover";
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
