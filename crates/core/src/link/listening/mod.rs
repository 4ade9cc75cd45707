//! Listening: what the server says that nobody asked for.
//!
//! ```text
//!   standing        the standing stream of a session
//!   subscriptions   the same of a stateless server
//! ```

mod standing;
mod subscriptions;

use crate::ids::ConnectionId;
use crate::listener::Listener;

/// The standing stream, and who wants it.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    listener: Listener,
    /// Whether the application listens to what nobody asked for.
    is_wanted: bool,
}

impl Listening {
    /// Whether the stream occupies this connection.
    pub(crate) fn holds(&self, connection: ConnectionId) -> bool {
        self.listener.holds(connection)
    }

    /// Whether the stream waits for word about its session.
    pub(crate) fn is_checking(&self) -> bool {
        self.listener.is_checking()
    }
}
