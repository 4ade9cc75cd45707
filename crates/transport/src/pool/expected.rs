//! Connections that are likely to come back, and the requests that wait for them.
//!
//! Once an answer has arrived, the rest of its stream is most often only its end. A request that finds no
//! idle connection waits for such a connection rather than dial: one request for each. After a wait in vain
//! no request waits, until a stream has ended in time again.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::{Http1, Pool, Room};

/// What is known about connections that are likely to come back.
#[derive(Default)]
pub(super) struct Expectation {
    /// The connections whose answer has arrived, oldest first.
    winding_down: Vec<Leftover>,
    /// The last number given to one of them.
    last: u64,
    /// How many requests wait for one of them.
    waiting: usize,
    /// Whether the server was seen to hold streams open after the answer, so that waiting for their end does
    /// not pay.
    holds_streams_open: bool,
}

/// A connection that is read only so that it can be used again.
struct Leftover {
    number: u64,
    since: Instant,
    closer: AbortHandle,
}

impl Pool {
    /// Notes that a connection is likely to come back soon.
    pub(crate) fn expect_back(&self, connection: &Http1) -> Expected {
        let (closer, since) = (connection.closer(), Instant::now());
        let expectation = &mut self.room.state().expectation;
        expectation.last += 1;
        let number = expectation.last;
        expectation.winding_down.push(Leftover { number, since, closer });
        Expected { room: self.room.clone(), number, since }
    }

    /// Waits for a connection whose answer is being read to its end anyway. The first wait of a request sets
    /// the `deadline` of all its waits.
    pub(super) async fn one_comes_back_by(&self, deadline: &mut Option<Instant>) -> bool {
        let mut changed = std::pin::pin!(self.room.changed.notified());
        changed.as_mut().enable();
        let _waiter = match Room::prospect(&self.room) {
            Prospect::Idle => return true,
            Prospect::None => return false,
            Prospect::Soon(waiter) => waiter,
        };
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + GRACE);
        let came_back = timeout_at(deadline, changed).await.is_ok();
        if !came_back {
            self.room.state().expectation.holds_streams_open = true;
        }
        came_back
    }
}

impl Room {
    fn prospect(self: &Arc<Self>) -> Prospect {
        let mut state = self.state();
        if !state.idle.is_empty() {
            return Prospect::Idle;
        }
        let expectation = &mut state.expectation;
        if expectation.holds_streams_open || expectation.waiting >= expectation.winding_down.len() {
            return Prospect::None;
        }
        expectation.waiting += 1;
        Prospect::Soon(Waiter { room: self.clone() })
    }
}

impl Room {
    /// Closes the connection that has been drained for longest, if it has had its time. The code that reads
    /// it finds it broken, and drops it.
    pub(super) fn close_a_leftover(&self) {
        let oldest = {
            let winding_down = &mut self.state().expectation.winding_down;
            let has_had_its_time = |it: &Leftover| it.since.elapsed() >= GRACE;
            let at = winding_down.iter().position(has_had_its_time);
            at.map(|at| winding_down.remove(at))
        };
        if let Some(oldest) = oldest {
            oldest.closer.abort();
        }
    }
}

/// Whether a connection can be had without a dial.
enum Prospect {
    Idle,
    None,
    Soon(Waiter),
}

/// A request that waits for a connection to come back.
struct Waiter {
    room: Arc<Room>,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.room.state().expectation.waiting -= 1;
    }
}

/// A connection that is likely to come back; dropped when it cannot.
pub(crate) struct Expected {
    room: Arc<Room>,
    number: u64,
    since: Instant,
}

impl Expected {
    /// Notes that the connection came back.
    pub(crate) fn came_back(self) {
        if self.since.elapsed() < GRACE {
            self.room.state().expectation.holds_streams_open = false;
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        let number = self.number;
        self.room.state().expectation.winding_down.retain(|leftover| leftover.number != number);
        self.room.changed.notify_one();
    }
}

/// How long a request waits for a connection that is about to come back. A server that ends its streams with
/// the answer never causes so long a wait; one that holds them open causes it once.
pub(super) const GRACE: Duration = Duration::from_millis(100);
