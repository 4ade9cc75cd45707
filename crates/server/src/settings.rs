//! What a person may choose: bounds, and how clients are told of doubt.

use std::time::Duration;

use ridethrough_core::{DoubtForm, DoubtRepeat};

/// The bounds that a person may choose. The other bounds are constants, each beside what it bounds.
#[derive(Clone, Debug)]
#[must_use]
pub struct Settings {
    pub(crate) sessions: usize,
    pub(crate) idle: Duration,
    pub(crate) connections: usize,
    pub(crate) is_dated: bool,
    pub(crate) doubt: DoubtForm,
    pub(crate) doubt_repeat: DoubtRepeat,
}

impl Default for Settings {
    /// Returns the default: sixteen sessions, because each is a process; half an hour, because a person goes
    /// to lunch; 384 connections, which is many times what the clients of sixteen sessions need.
    fn default() -> Self {
        let idle = Duration::from_secs(30 * 60);
        let (doubt, doubt_repeat) = (DoubtForm::default(), DoubtRepeat::default());
        Self { sessions: 16, idle, connections: 384, is_dated: true, doubt, doubt_repeat }
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

    /// Sets how clients are told that a call of a tool may have run; the default is a result, because programs
    /// repeat errors.
    pub const fn doubt(mut self, form: DoubtForm) -> Self {
        self.doubt = form;
        self
    }

    /// Sets what becomes of a call that is equal to one whose session ended; by default it is answered with that doubt
    /// for a while.
    pub const fn doubt_repeat(mut self, repeat: DoubtRepeat) -> Self {
        self.doubt_repeat = repeat;
        self
    }

    /// Leaves the `Date` of answers out, for a simulation that must repeat byte for byte: the real time has
    /// another length in HTTP/2 each second. Any other server must send it (RFC 9110, section 6.6.1).
    pub const fn undated(mut self) -> Self {
        self.is_dated = false;
        self
    }
}
