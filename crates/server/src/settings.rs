//! The bounds that a person may choose.

use std::time::Duration;

/// The bounds that a person may choose. The other bounds are constants, each beside what it bounds.
#[derive(Clone, Debug)]
#[must_use]
pub struct Settings {
    pub(crate) sessions: usize,
    pub(crate) idle: Duration,
    pub(crate) connections: usize,
    pub(crate) is_dated: bool,
}

impl Default for Settings {
    /// Returns the default: sixteen sessions, because each is a process; half an hour, because a person goes
    /// to lunch; 384 connections, which is many times what the clients of sixteen sessions need.
    fn default() -> Self {
        let idle = Duration::from_secs(30 * 60);
        Self { sessions: 16, idle, connections: 384, is_dated: true }
    }
}

impl Settings {
    /// Sets the most sessions at once, at least one. Beyond it, a client is told to come again.
    pub fn sessions(mut self, most: usize) -> Self {
        self.sessions = most.clamp(1, 1 << 16);
        self
    }

    /// Sets the most connections at once that have shown the token, at least one. Beyond it, the one that was
    /// silent for longest is closed; if all are in use, a client is told to come again. A third as many may be
    /// open that have not shown it.
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most.max(1);
        self
    }

    /// Sets how long a session lives without a request, an open stream or a call under way.
    pub const fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Leaves the `Date` of answers out, for a simulation that must repeat byte for byte: the real time has
    /// another length in HTTP/2 each second. Any other server must send it (RFC 9110, section 6.6.1).
    pub const fn undated(mut self) -> Self {
        self.is_dated = false;
        self
    }
}
