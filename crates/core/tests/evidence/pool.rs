//! The connections between the machine and its server: one, or two that a balancer has given to two replicas.

use ridethrough_core::{ConnectionId, Lane, Outgoing, Route};

/// Connections by their numbers: odd ones lead to one replica, even ones to the other.
pub(crate) struct Pool {
    open: Vec<u64>,
    dialed: u64,
    calls: usize,
    /// The machine has just spoken for itself on the first one.
    is_warm: bool,
}

impl Pool {
    /// So many connections, of which a call goes out on the next one each time, from this one on.
    pub(crate) fn new(connections: u64, first: usize) -> Self {
        Self {
            open: (1..=connections).collect(),
            dialed: connections,
            calls: first,
            is_warm: false,
        }
    }

    /// The connection that a request goes out on; none if the only one that will do is gone.
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
            // A pool lends what came back last: what waited for a handshake goes out where that did.
            Route::Any | Route::Prefer(_) if std::mem::take(&mut self.is_warm) => 0,
            Route::Any | Route::Prefer(_) => {
                self.calls += 1;
                self.calls
            }
        };
        Some(self.open[place % self.open.len()])
    }

    /// This connection broke; the one that takes its place goes to the next replica.
    pub(crate) fn cut(&mut self, connection: u64) {
        self.dialed += 1;
        let broken = self.open.iter_mut().find(|it| **it == connection);
        *broken.expect("a connection breaks once") = self.dialed;
    }
}
