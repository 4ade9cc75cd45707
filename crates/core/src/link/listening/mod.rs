//! Listening: the stream for messages of the server that belong to no call.
//!
//! ```text
//!   standing        the standing stream of a session
//!   subscriptions   its counterpart in the stateless era
//! ```

mod standing;
mod subscriptions;

use crate::ids::ConnectionId;
use crate::listener::Listener;

/// The standing stream, and whether the application wants it.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    listener: Listener,
    /// Whether the application listens to messages that belong to no call.
    is_wanted: bool,
}

impl Listening {
    /// Whether the stream occupies this connection.
    pub(crate) fn holds(&self, connection: ConnectionId) -> bool {
        self.listener.holds(connection)
    }

    /// Whether the stream waits for the result of a question about its session.
    pub(crate) fn is_checking(&self) -> bool {
        self.listener.is_checking()
    }
}
