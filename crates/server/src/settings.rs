//! The bounds that a person may choose.

use std::time::Duration;

/// The bounds that a person may choose. The other bounds are constants, each beside what it bounds.
#[derive(Clone, Debug)]
#[must_use]
pub struct Settings {
    pub(crate) sessions: usize,
    pub(crate) idle: Duration,
}

impl Default for Settings {
    /// Returns the default: sixteen sessions, because each is a process; half an hour, because a person goes
    /// to lunch.
    fn default() -> Self {
        Self { sessions: 16, idle: Duration::from_secs(30 * 60) }
    }
}

impl Settings {
    /// Sets the most sessions at once, at least one. Beyond it, a client is told to come again.
    pub fn sessions(mut self, most: usize) -> Self {
        self.sessions = most.clamp(1, 1 << 16);
        self
    }

    /// Sets how long a session lives without a request, an open stream or a call under way.
    pub const fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }
}
