//! How many HTTP/1.1 connections there may be, and which request gets the next one.
//!
//! A call can hold its connection for any time, and other requests must get through meanwhile: a server may
//! end that call only when it has our answer to a question of its own. So the last places are reserved. A
//! call leaves three free. A resume leaves two (it may run beside the stream that it replaces), and so does a
//! notification of the application, which goes when no call waits. The link's own messages leave one, and the
//! link's own connect takes the last. Within a lane, the first to come is the first served.

use std::collections::VecDeque;
use std::sync::Arc;

use ridethrough_core::Lane;
use tokio::sync::oneshot;

use super::{PoolState, Room};

/// The places, and the requests that wait for one.
pub(super) struct Places {
    limit: usize,
    taken: usize,
    waiting: [WaitingLane; LANES],
}

/// The requests that wait in one lane.
#[derive(Default)]
struct WaitingLane {
    waiters: VecDeque<oneshot::Sender<ConnectionPermit>>,
    /// How many requests may wait before those that are gone are removed. Removing them each time would take
    /// quadratic time.
    look_at: usize,
}

impl WaitingLane {
    fn join(&mut self, waiter: oneshot::Sender<ConnectionPermit>) {
        if self.waiters.len() >= self.look_at {
            self.waiters.retain(|waiter| !waiter.is_closed());
            self.look_at = 2 * self.waiters.len().max(FEW);
        }
        self.waiters.push_back(waiter);
    }
}

impl Places {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: 0, waiting: Default::default() }
    }

    /// Returns how many calls may be out at once so that none of them waits for a place here: the standing
    /// stream has one beside those that calls leave free.
    pub(super) fn for_calls(&self) -> usize {
        self.limit.saturating_sub(KEPT_FROM_CALLS).max(1)
    }

    /// Whether this many idle connections are too many beside those in use.
    pub(super) const fn has_no_room_for(&self, idle: usize) -> bool {
        self.taken + idle > self.limit
    }

    fn has_room(&self, lane: Lane) -> bool {
        self.taken + leaves(lane) < self.limit
    }
}

/// A permit to hold one connection; free again when this is dropped.
pub(super) struct ConnectionPermit {
    room: Option<Arc<Room>>,
}

impl ConnectionPermit {
    /// Takes a permit for the link's own connect, which never waits.
    pub(super) fn of_a_connect(room: &Arc<Room>) -> Self {
        room.state().places.taken += 1;
        Self { room: Some(room.clone()) }
    }

    /// Takes a permit, unless there is none or other requests wait for one.
    pub(super) fn take(room: &Arc<Room>, state: &mut PoolState, lane: Lane) -> Option<Self> {
        let places = &mut state.places;
        if !places.has_room(lane) || !places.waiting[lane as usize].waiters.is_empty() {
            return None;
        }
        places.taken += 1;
        Some(Self { room: Some(room.clone()) })
    }

    /// Gives the permit back while the lock is held.
    pub(super) fn leave(mut self, state: &mut PoolState) {
        if let Some(room) = self.room.take() {
            room.pass_on(state);
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        if let Some(room) = self.room.take() {
            room.pass_on(&mut room.state());
        }
    }
}

impl Room {
    /// Joins the line for a permit.
    pub(super) fn stand_in_line(
        self: &Arc<Self>,
        lane: Lane,
    ) -> oneshot::Receiver<ConnectionPermit> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        state.places.waiting[lane as usize].join(sender);
        // A permit may have been given back since this request was refused one.
        self.serve(&mut state);
        receiver
    }

    /// Gives a free permit to the next request.
    fn pass_on(self: &Arc<Self>, state: &mut PoolState) {
        state.places.taken -= 1;
        self.serve(state);
    }

    fn serve(self: &Arc<Self>, state: &mut PoolState) {
        let places = &mut state.places;
        for lane in IN_ORDER {
            while places.has_room(lane)
                && let Some(waiter) = places.waiting[lane as usize].waiters.pop_front()
            {
                places.taken += 1;
                if let Err(mut place) = waiter.send(ConnectionPermit { room: Some(self.clone()) }) {
                    // That request is gone. The lock is held, so the permit must not be freed by a drop.
                    place.room = None;
                    places.taken -= 1;
                }
            }
        }
    }
}

/// Returns how many places a request of this lane leaves free.
const fn leaves(lane: Lane) -> usize {
    match lane {
        Lane::Call => 3,
        Lane::Control => 1,
        Lane::Notice | Lane::Resume => 2,
    }
}

const LANES: usize = 4;
const IN_ORDER: [Lane; LANES] = [Lane::Control, Lane::Resume, Lane::Call, Lane::Notice];
/// A line that is shorter is not checked for requests that are gone.
const FEW: usize = 16;
/// The places that calls leave free, and that of the standing stream.
const KEPT_FROM_CALLS: usize = leaves(Lane::Call) + 1;
/// The fewest connections: with fewer there would be no place for a call.
pub const FEWEST: usize = KEPT_FROM_CALLS + 1;
