//! The bounds that a person may choose.

use std::time::Duration;

/// The bounds that a person may choose. The other bounds are constants, each beside what it bounds.
#[derive(Clone, Debug)]
#[must_use]
pub struct Settings {
    pub(crate) sessions: usize,
    pub(crate) idle: Duration,
    pub(crate) connections: usize,
}

impl Default for Settings {
    /// Returns the default: sixteen sessions, because each is a process; half an hour, because a person goes
    /// to lunch; 384 connections, which is many times what the clients of sixteen sessions need.
    fn default() -> Self {
        Self { sessions: 16, idle: Duration::from_secs(30 * 60), connections: 384 }
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
}
