//! The numbers of connections, and the requests that wait for one in particular.
//!
//! On HTTP/1.1 a connection that comes back goes first to a request that waits for that very one. If it is
//! closed instead, all requests that wait for it learn that it is gone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough_core::ConnectionId;
use tokio::sync::oneshot;

use super::http1::Http1;
use super::places::ConnectionPermit;

/// The last number given, and the HTTP/1.1 connections that exist. Its lock is taken while the room's is
/// held, never the other way round: connections are also closed under the room's lock.
#[derive(Default)]
pub(super) struct Register {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    last: u64,
    living: BTreeMap<ConnectionId, VecDeque<oneshot::Sender<Returned>>>,
}

/// A connection that came back, and the permit that it was used under.
pub(super) struct Returned {
    pub(super) connection: Http1,
    pub(super) place: Option<ConnectionPermit>,
}

impl Register {
    /// Returns a number for a new connection.
    pub(super) fn next_number(&self) -> ConnectionId {
        let mut entries = self.entries();
        entries.last += 1;
        ConnectionId::new(entries.last)
    }

    /// Registers a connection that requests may wait for, for as long as the entry is kept.
    pub(super) fn enter(self: &Arc<Self>) -> Registration {
        let id = self.next_number();
        self.entries().living.insert(id, VecDeque::new());
        Registration { id, register: self.clone() }
    }

    /// Waits for a connection that is in use; `None` if it no longer exists. The receiver fails when it is
    /// closed.
    pub(super) fn wait_for(&self, id: ConnectionId) -> Option<oneshot::Receiver<Returned>> {
        let (sender, receiver) = oneshot::channel();
        self.entries().living.get_mut(&id)?.push_back(sender);
        Some(receiver)
    }

    /// Gives a connection that came back to the first request that waits for it, or returns it if there is
    /// none.
    pub(super) fn hand_over(&self, mut returned: Returned) -> Option<Returned> {
        while let Some(waiter) = self.next_waiter(returned.connection.id()) {
            match waiter.send(returned) {
                Ok(()) => return None,
                // That request was abandoned.
                Err(kept) => returned = kept,
            }
        }
        Some(returned)
    }

    fn next_waiter(&self, id: ConnectionId) -> Option<oneshot::Sender<Returned>> {
        self.entries().living.get_mut(&id)?.pop_front()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // No code panics while it holds the lock.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of one existing connection.
pub(super) struct Registration {
    id: ConnectionId,
    register: Arc<Register>,
}

impl Registration {
    pub(super) const fn id(&self) -> ConnectionId {
        self.id
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let waiters = self.register.entries().living.remove(&self.id);
        // The waiting requests are told by this, outside the lock.
        drop(waiters);
    }
}
