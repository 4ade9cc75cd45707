//! What an application asks of a link, and who it says it is.

use std::sync::Arc;
use std::time::Duration;

use crate::exchange::Extension;
use crate::headers::Headers;
use crate::message::Json;
use crate::replay::ReplayRule;

/// Who we say we are in a handshake.
#[derive(Clone, Debug)]
pub struct Identity {
    /// `clientInfo`, as it is to be sent.
    pub info: Json,
    /// `capabilities`, as they are to be sent.
    pub capabilities: Json,
}

/// A request of the application.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Arc<str>,
    /// The params, sent as they are but for the progress token.
    pub params: Option<Json>,
    /// How this one call is to be treated.
    pub options: CallOptions,
}

/// Options of one call; the policy decides what is left open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The call's own time.
    pub deadline: Option<Duration>,
    /// More time with each progress.
    pub extension: Option<Extension>,
    /// Whether a second run does no harm.
    pub replay: ReplayRule,
    /// Whether progress is wanted though the params carry no token.
    pub progress: bool,
    /// Headers of its own, for each request that is made for it.
    pub headers: Headers,
    /// Whether the caller answers what a stateless server asks for, with a call of its own: to the link, an
    /// answer that asks for input is then an answer like any other.
    pub passes_input: bool,
}
