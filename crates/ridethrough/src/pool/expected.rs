//! Connections that are likely to come back, and the requests that wait for them.
//!
//! When an answer is there, the rest of its stream is most often only its end. A request that finds
//! no idle connection waits for such a one rather than dial: one request for each. After a wait in
//! vain nobody waits, until a stream has ended in time again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Pool, Room};

/// What is known about connections that are on their way back.
#[derive(Default)]
pub(super) struct Expectation {
    /// Connections whose answer is as good as read.
    winding_down: usize,
    /// Requests that wait for one of them.
    waiting: usize,
    /// Whether the server was seen to hold streams open after the answer, so that waiting for
    /// their end does not pay.
    holds_streams_open: bool,
}

impl Pool {
    /// Says that a connection is likely to come back soon.
    pub(crate) fn expect_back(&self) -> Expected {
        self.room.state().expectation.winding_down += 1;
        Expected { room: self.room.clone(), since: Instant::now() }
    }

    /// Waits for a connection whose answer is being read to its end anyway.
    pub(super) async fn one_comes_back_by(&self, deadline: Instant) -> bool {
        let mut changed = std::pin::pin!(self.room.changed.notified());
        changed.as_mut().enable();
        let _waiter = match Room::prospect(&self.room) {
            Prospect::Idle => return true,
            Prospect::None => return false,
            Prospect::Soon(waiter) => waiter,
        };
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
        if expectation.holds_streams_open || expectation.waiting >= expectation.winding_down {
            return Prospect::None;
        }
        expectation.waiting += 1;
        Prospect::Soon(Waiter { room: self.clone() })
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
    since: Instant,
}

impl Expected {
    /// It came back.
    pub(crate) fn came_back(self) {
        if self.since.elapsed() < GRACE {
            self.room.state().expectation.holds_streams_open = false;
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.room.state().expectation.winding_down -= 1;
        self.room.changed.notify_one();
    }
}

/// What a wait for a connection about to come back may cost. A server that ends its streams with
/// the answer never makes us wait so long; one that holds them open does so once.
pub(super) const GRACE: Duration = Duration::from_millis(100);
