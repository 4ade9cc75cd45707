//! The requests of an application to a link, and the identity that the link names.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_wire::headers::Headers;
use ridethrough_wire::message::Json;

use crate::exchange::Extension;
use crate::replay::ReplayRule;

/// The client's identity, as a handshake names it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The `clientInfo` to send.
    pub info: Json,
    /// The `capabilities` to send.
    pub capabilities: Json,
}

/// A request of the application.
#[derive(Clone, Debug)]
pub struct Request {
    /// The JSON-RPC method.
    pub method: Arc<str>,
    /// The params, sent as they are except for the progress token.
    pub params: Option<Json>,
    /// How this call is treated.
    pub options: CallOptions,
}

/// Options of one call. Where an option is `None`, the policy decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The time that the call may take.
    pub deadline: Option<Duration>,
    /// The time that each progress notification adds to the deadline.
    pub extension: Option<Extension>,
    /// Whether the call may be sent twice.
    pub replay: ReplayRule,
    /// Whether the link asks for progress even if the params carry no token.
    pub progress: bool,
    /// Additional headers for each request that is made for the call.
    pub headers: Headers,
    /// Whether the caller itself answers a stateless server's request for input, by a call of its own. The
    /// link then hands over a result that asks for input, or one of a type that only the caller knows, like
    /// any other.
    pub passes_input: bool,
    /// Whether the caller itself writes the headers that describe a stateless request, except for
    /// `Mcp-Method`. The link then mirrors no argument, and a server's error about headers is its answer.
    pub own_routing_headers: bool,
    /// The capabilities that a stateless server sees with this request, if they are not those of the link's
    /// identity. A server with sessions knows the identity's only.
    pub capabilities: Option<Json>,
}
