//! Listening: the stream for messages of the server that belong to no call.
//!
//! ```text
//!   standing        the standing stream of a session
//!   subscriptions   its counterpart in the stateless era
//! ```

mod standing;
mod subscriptions;

use crate::link::effects::StandingStream;
use crate::listener::Listener;

/// The standing stream, and whether the application wants it.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    listener: Listener,
    /// Whether the application listens to messages that belong to no call.
    is_wanted: bool,
}

impl Listening {
    /// Returns what calls must know of the stream.
    pub(crate) fn standing(&self) -> StandingStream {
        let connection = self.listener.held_connection();
        StandingStream { connection, is_checking: self.listener.is_checking() }
    }
}
