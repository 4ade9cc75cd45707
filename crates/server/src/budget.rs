//! The memory for messages of backends: a share for each session, and a bound for all.
//!
//! Everything in memory counts, whether a stream holds it or a connection that has not written it yet. This
//! module knows no time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The memory that all sessions use.
#[derive(Debug, Default)]
pub(crate) struct MemoryBudget {
    bytes: Mutex<usize>,
    room: Notify,
}

/// The memory that one session uses.
#[derive(Clone, Debug)]
pub(crate) struct SessionBudget(Arc<SessionUse>);

#[derive(Debug)]
struct SessionUse {
    store: Arc<MemoryBudget>,
    /// The bytes in use, which change only while the count of all sessions is locked.
    bytes: Mutex<usize>,
}

/// The bound that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All sessions together hold as much as they may.
    All,
    /// The session holds as much as its share.
    Session,
}

/// Room for a number of bytes, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    share: SessionBudget,
    bytes: usize,
}

impl MemoryBudget {
    /// Returns the share of a new session.
    pub(crate) fn share(self: &Arc<Self>) -> SessionBudget {
        SessionBudget(Arc::new(SessionUse { store: self.clone(), bytes: Mutex::default() }))
    }
}

impl SessionBudget {
    /// Takes room. A message that is larger than the share has room if the session holds nothing else, and
    /// each session has a little room whatever the others hold.
    pub(crate) fn take(&self, bytes: usize) -> Result<Reservation, Full> {
        let (mut all, mut ours) = (lock(&self.0.store.bytes), lock(&self.0.bytes));
        if *ours > 0 && *ours + bytes > MOST_OF_SESSION {
            return Err(Full::Session);
        }
        if *all > 0 && *all + bytes > MOST_IN_ALL && *ours + bytes > LEAST_OF_SESSION {
            return Err(Full::All);
        }
        *all += bytes;
        *ours += bytes;
        drop((all, ours));
        Ok(Reservation { share: self.clone(), bytes })
    }

    /// Returns a future that completes when room was given back after this call.
    pub(crate) fn room(&self) -> Notified<'_> {
        self.0.store.room.notified()
    }
}

impl Reservation {
    /// Ties the room to a text: it is given back when the last reference to the text is dropped.
    pub(crate) fn hold(self, text: Bytes) -> Bytes {
        Bytes::from_owner(Held { text, _reservation: self })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let SessionUse { store, bytes } = &*self.share.0;
        let (mut all, mut ours) = (lock(&store.bytes), lock(bytes));
        *all -= self.bytes;
        *ours -= self.bytes;
        drop((all, ours));
        store.room.notify_waiters();
    }
}

struct Held {
    text: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

fn lock(count: &Mutex<usize>) -> MutexGuard<'_, usize> {
    // No code panics in the middle of a change, so a poisoned lock is still valid.
    count.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The share of a session: twice the largest message that a client may send.
pub(crate) const MOST_OF_SESSION: usize = 32 << 20;
/// The bound for all sessions together: as much as a small machine can spare.
pub(crate) const MOST_IN_ALL: usize = 256 << 20;
/// The room that the other sessions cannot take from a session: more than ordinary answers need.
const LEAST_OF_SESSION: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_its_share_and_a_large_text_has_room_alone() {
        let share = Arc::<MemoryBudget>::default().share();

        let most = share.take(MOST_OF_SESSION).unwrap();
        assert_eq!(share.take(1).unwrap_err(), Full::Session);
        drop(most);

        let large = share.take(2 * MOST_OF_SESSION).unwrap();
        assert_eq!(share.take(1).unwrap_err(), Full::Session);
        drop(large);
        assert!(share.take(1).is_ok());
    }

    #[test]
    fn all_sessions_have_a_bound_beside_the_little_that_each_may_have() {
        let store = Arc::<MemoryBudget>::default();
        let shares: Vec<_> = (0..20).map(|_| store.share()).collect();

        let held: Vec<_> = shares.iter().map(|share| share.take(MOST_OF_SESSION)).collect();

        assert_eq!(held.iter().flatten().count(), MOST_IN_ALL / MOST_OF_SESSION);
        assert_eq!(shares[19].take(MOST_OF_SESSION).unwrap_err(), Full::All);
        assert!(shares[19].take(LEAST_OF_SESSION).is_ok());
    }

    #[test]
    fn room_comes_back_with_the_last_who_holds_the_text() {
        let share = Arc::<MemoryBudget>::default().share();
        let text = Bytes::from(vec![b'x'; 1000]);

        let held = share.take(1000).unwrap().hold(text.clone());
        let part = held.slice(10..20);
        assert_eq!(held, text);
        drop(held);
        assert_eq!(share.take(MOST_OF_SESSION).unwrap_err(), Full::Session);

        drop(part);
        assert!(share.take(MOST_OF_SESSION).is_ok());
    }
}
