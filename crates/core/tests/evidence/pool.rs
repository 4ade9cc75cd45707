//! The connections between the link and its server: one, or two that a load balancer has given to two
//! replicas.

use ridethrough_core::{ConnectionId, Lane, Outgoing, Route};

/// The connections by their numbers: odd ones lead to one replica, even ones to the other.
pub(crate) struct Pool {
    open: Vec<u64>,
    dialed: u64,
    calls: usize,
    /// Whether the link has just sent a request of its own on the first one.
    is_warm: bool,
}

impl Pool {
    /// Creates `connections` connections. Each call goes out on the next one, beginning with `first`.
    pub(crate) fn new(connections: u64, first: usize) -> Self {
        Self {
            open: (1..=connections).collect(),
            dialed: connections,
            calls: first,
            is_warm: false,
        }
    }

    /// Returns the connection that a request goes out on; `None` if the only possible one is gone.
    pub(crate) fn choose(&mut self, request: &Outgoing) -> Option<u64> {
        let named = |id: ConnectionId| self.open.iter().position(|it| ConnectionId::new(*it) == id);
        let place = match request.route {
            Route::Only(id) => named(id)?,
            Route::Prefer(id) if named(id).is_some() => named(id)?,
            Route::Except(id) | Route::Instead(id) => named(id).map_or(0, |place| place + 1),
            Route::Any | Route::Prefer(_) if request.lane != Lane::Call => {
                self.is_warm = true;
                0
            }
            // A pool lends the connection that came back last: a call that waited for a handshake goes out on
            // the handshake's connection.
            Route::Any | Route::Prefer(_) if std::mem::take(&mut self.is_warm) => 0,
            Route::Any | Route::Prefer(_) => {
                self.calls += 1;
                self.calls
            }
        };
        Some(self.open[place % self.open.len()])
    }

    /// Breaks a connection, unless it broke under another answer; the one that takes its place goes to the next
    /// replica.
    pub(crate) fn cut(&mut self, connection: u64) {
        if let Some(broken) = self.open.iter_mut().find(|it| **it == connection) {
            self.dialed += 1;
            *broken = self.dialed;
        }
    }
}
