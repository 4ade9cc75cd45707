//! How many HTTP/1.1 connections there may be, and who gets the next one.
//!
//! A call can hold its connection for as long as it likes, and others must get through meanwhile: a
//! server may end that call only when it has our answer to a question of its own. So the last places
//! are not for everybody. A call leaves three free, a resume two (it may stand beside the stream that
//! it replaces), and so does a notification of the application, which goes when no call waits; all that
//! the link says itself leaves one, and the link's own connect takes the last. Within a lane, who came
//! first goes first.

use std::collections::VecDeque;
use std::sync::Arc;

use ridethrough_core::Lane;
use tokio::sync::oneshot;

use super::{PoolState, Room};

/// The places, and those who wait for one.
pub(super) struct Places {
    limit: usize,
    taken: usize,
    waiting: [WaitingLane; LANES],
}

/// Those who wait in one lane.
#[derive(Default)]
struct WaitingLane {
    waiters: VecDeque<oneshot::Sender<ConnectionPermit>>,
    /// So many may stand there before it is looked who has left: looking each time would take time in the
    /// square of their number.
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

    /// How many calls may be out at once, so that none of them waits for a place here: the standing
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

/// Leave to hold one connection; free again when this is dropped.
pub(super) struct ConnectionPermit {
    room: Option<Arc<Room>>,
}

impl ConnectionPermit {
    /// The place of the link's own connect, which waits for nobody.
    pub(super) fn of_a_connect(room: &Arc<Room>) -> Self {
        room.state().places.taken += 1;
        Self { room: Some(room.clone()) }
    }

    /// Takes a place, unless there is none or others wait for one.
    pub(super) fn take(room: &Arc<Room>, state: &mut PoolState, lane: Lane) -> Option<Self> {
        let places = &mut state.places;
        if !places.has_room(lane) || !places.waiting[lane as usize].waiters.is_empty() {
            return None;
        }
        places.taken += 1;
        Some(Self { room: Some(room.clone()) })
    }

    /// Gives the place back where the lock is held.
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
    /// Stands in line for a place.
    pub(super) fn stand_in_line(
        self: &Arc<Self>,
        lane: Lane,
    ) -> oneshot::Receiver<ConnectionPermit> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        state.places.waiting[lane as usize].join(sender);
        // A place may have been given back since this one was told that there is none.
        self.serve(&mut state);
        receiver
    }

    /// A place is free: it goes to whoever is next.
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
                    // Whoever stood there is gone. The lock is held: it must not be freed by a drop.
                    place.room = None;
                    places.taken -= 1;
                }
            }
        }
    }
}

/// How many places somebody of this lane leaves free.
const fn leaves(lane: Lane) -> usize {
    match lane {
        Lane::Call => 3,
        Lane::Control => 1,
        Lane::Notice | Lane::Resume => 2,
    }
}

const LANES: usize = 4;
const IN_ORDER: [Lane; LANES] = [Lane::Control, Lane::Resume, Lane::Call, Lane::Notice];
/// A line that is shorter is not worth a second thought.
const FEW: usize = 16;
/// What calls leave free, and the standing stream.
const KEPT_FROM_CALLS: usize = leaves(Lane::Call) + 1;
/// With fewer there would be no place for a call.
pub(crate) const FEWEST: usize = KEPT_FROM_CALLS + 1;
