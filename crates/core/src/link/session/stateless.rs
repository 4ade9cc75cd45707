//! The form of requests in the stateless era: each names the client and the revision, because the server
//! remembers nothing.

use bytes::Bytes;
use http::HeaderMap;
use ridethrough_wire::era::{Era, Version};
use ridethrough_wire::headers::Headers;
use ridethrough_wire::message::{
    Json, Meta, Params, notification_body, stateless_notification_body,
};

use super::Sessions;
use crate::ids::AttemptId;
use crate::link::context::Context;
use crate::link::routing_headers::{DISCOVER, on_the_wire, put_method};
use crate::output::Address;

impl Sessions {
    /// Returns the body of a request, in the form of the era. A stateless server is told of these
    /// capabilities, or of those of the identity.
    pub(crate) fn body(
        &self,
        era: Era,
        params: &Params,
        wire_id: u64,
        method: &str,
        capabilities: Option<&Json>,
    ) -> Bytes {
        match era {
            Era::Legacy => params.request_body(wire_id, method),
            Era::Modern => {
                let ours = self.meta_with(capabilities.unwrap_or(&self.identity.capabilities));
                params.stateless_body(wire_id, on_the_wire(method), &ours)
            }
        }
    }

    /// Returns the members of `_meta` that every request to a stateless server must carry, and the log level
    /// that the application has set.
    pub(crate) fn meta(&self) -> Meta {
        self.meta_with(&self.identity.capabilities)
    }

    fn meta_with(&self, capabilities: &Json) -> Meta {
        let info = &self.identity.info;
        let version = Version::V2026_07_28;
        let always = format!(
            r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{}"#,
            capabilities.as_str(),
            info.as_str()
        );
        Meta { always, log_level: self.restore.log_level() }
    }

    /// Returns the body of a notification, in the form of the era.
    pub(crate) fn notification(&self, method: &str, params: Option<&Json>) -> Bytes {
        match self.era() {
            Era::Legacy => notification_body(method, params),
            Era::Modern => stateless_notification_body(method, params, &self.meta()),
        }
    }

    /// Returns the headers of a request that the link makes for itself.
    pub(crate) fn own_headers(&self, method: &str) -> Headers {
        if self.era() == Era::Legacy {
            return Headers::default();
        }
        let mut headers = HeaderMap::new();
        put_method(&mut headers, method);
        headers.into()
    }

    /// Sends `server/discover`, in the form of the stateless era.
    pub(crate) fn send_discover(
        &mut self,
        cx: &mut Context,
        wire_id: u64,
        to: Address,
    ) -> AttemptId {
        let ours = self.meta();
        let body = Params::new(None, false).stateless_body(wire_id, DISCOVER, &ours);
        let mut headers = HeaderMap::new();
        put_method(&mut headers, DISCOVER);
        let to = Address { version: Some(Version::V2026_07_28), ..to };
        self.send(cx, body, to, headers.into())
    }
}
