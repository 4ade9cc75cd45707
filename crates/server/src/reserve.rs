//! Makes room for messages of a backend, when its session holds as much as it may.
//!
//! ```text
//!   full ──▶ drop what has ended and is not read ──▶ wait for readers ──10 s──▶ close stalled connections
//!                                                        │    └──60 s──▶ cut off readers that took nothing
//!                                                        └── no client reads ──▶ no room
//! ```
//! Only the session's own backend waits meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::budget::{Full, Reservation};
use crate::session::Session;

/// Makes room for the messages of one session's backend.
pub(crate) struct Reserve<'a>(pub(crate) &'a Arc<Session>);

impl Reserve<'_> {
    /// Takes room for this many bytes; `None` if there is none, and no client reads.
    pub(crate) async fn take(&self, bytes: usize) -> Option<Reservation> {
        let mut deadline = None;
        let mut seen: Option<Seen> = None;
        loop {
            // The wait begins before the check, so that room that is given back meanwhile is not missed.
            let room = self.0.share.room();
            let full = match self.0.share.take(bytes) {
                Ok(reservation) => return Some(reservation),
                Err(full) => full,
            };
            if self.forget(full) {
                continue;
            }
            let seen_now = || Seen { since: Instant::now(), unread: self.unread(full) };
            let unmoved = seen.get_or_insert_with(seen_now);
            if unmoved.since.elapsed() >= LONGEST_STANDSTILL && seen.take().is_some_and(Seen::cut) {
                continue;
            }
            let whose = (full == Full::Session).then_some(self.0.number);
            let patience = if self.is_read(whose) { LONGEST_LAG } else { HANDING_OVER };
            let until = *deadline.get_or_insert_with(|| Instant::now() + patience);
            let is_late = tokio::select! {
                biased;
                () = room => false,
                // A reader is gone, so there may be more to drop.
                () = self.0.room.notified() => false,
                () = sleep_until(until) => true,
            };
            if !is_late {
                continue;
            }
            deadline = None;
            let makes_room = || {
                self.0.connections.close_stalled(whose, LONGEST_LAG)
                    || self.is_read(whose)
                    || self.forget(full)
            };
            if !makes_room() {
                return None;
            }
        }
    }

    /// Whether a client reads, or is about to read, something that is kept.
    fn is_read(&self, whose: Option<u64>) -> bool {
        self.0.lock().streams.is_awaited() || self.0.connections.is_writing(whose)
    }

    fn forget(&self, full: Full) -> bool {
        match full {
            Full::Session => self.0.lock().streams.forget_something(),
            Full::All => (self.0.all)().iter().any(|it| it.lock().streams.forget_something()),
        }
    }

    fn unread(&self, full: Full) -> Vec<Unread> {
        let sessions = match full {
            Full::Session => vec![self.0.clone()],
            Full::All => (self.0.all)(),
        };
        let places = |session: Arc<Session>| {
            let places = session.lock().streams.unread().collect();
            (session, places)
        };
        sessions.into_iter().map(places).collect()
    }
}

/// A session, and the places of its streams with something to read.
type Unread = (Arc<Session>, Vec<(u64, u64)>);

/// Streams with something to read, as they were at one moment.
struct Seen {
    since: Instant,
    unread: Vec<Unread>,
}

impl Seen {
    /// Cuts off the readers that have accepted nothing since. Returns whether there was any.
    fn cut(self) -> bool {
        let cut =
            |(session, places): &(Arc<Session>, Vec<_>)| session.lock().streams.cut_unmoved(places);
        self.unread.iter().filter(|it| cut(it)).count() > 0
    }
}

/// How long a backend waits for a client that does not read.
pub(crate) const LONGEST_LAG: Duration = Duration::from_secs(10);
/// How long other sessions wait for a reader that accepts nothing. It can resume what is kept.
const LONGEST_STANDSTILL: Duration = Duration::from_secs(60);
/// The time between handing an event to a connection and the start of its write.
const HANDING_OVER: Duration = Duration::from_secs(1);
