//! The pool of connections to one server: which one a request may use, and when one comes back.
//!
//! A connection that failed, stalled or was cancelled is never used again: it comes back only after its
//! answer was read to the end. The pool never sends anything and never retries.
//!
//! ```text
//!   HTTP/1.1   dialed ──▶ leased ──answer read──▶ idle ──▶ leased ...     last in, first out
//!                           └──anything else──▶ closed        └──too old, not quiet──▶ closed
//!   HTTP/2     dialed ──▶ shared by requests until it fails; another one beside it when it is full
//! ```

mod dialing;
mod expected;
mod http1;
#[cfg_attr(not(feature = "http2"), path = "http2_absent.rs")]
mod http2;
mod named;
mod places;
mod register;
mod reuse;
#[cfg(feature = "http2")]
mod upload;

pub(crate) use expected::Expected;
pub(crate) use http1::{Http1, Unanswered};
pub(crate) use http2::Http2Stream;
pub use places::FEWEST as FEWEST_CONNECTIONS;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::WeakShared;
use ridethrough_core::{Cause, ConnectionId, Failure, Lane, Route};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::clock::SleepWatch;
use crate::dial::{Dial, Speaks};
use crate::endpoint::Endpoint;

use dialing::{Beside, Dialed, Dialing};
use expected::Expectation;
use http2::Http2;
use places::{ConnectionPermit, Places};
use register::{Register, Returned};
use reuse::Reuse;

/// The connections to one server.
#[derive(Clone)]
pub struct Pool {
    room: Arc<Room>,
}

/// The settings of a pool.
pub struct PoolSettings {
    /// How long a dial may take.
    pub connect_within: Duration,
    /// The most connections at once over HTTP/1.1.
    pub limit: usize,
    /// Tells that the computer slept, which no connection survives.
    pub sleep: SleepWatch,
}

/// A connection that a request may use.
pub(crate) enum Lease {
    Http1(Http1),
    Http2(Http2Stream),
}

struct Room {
    dial: Arc<dyn Dial>,
    endpoint: Endpoint,
    connect_within: Duration,
    /// How many calls may be out at once.
    capacity: usize,
    state: Mutex<PoolState>,
    register: Arc<Register>,
    /// Notifies that a connection came back, or will not.
    changed: Notify,
}

struct PoolState {
    places: Places,
    sleep: SleepWatch,
    idle: Vec<Http1>,
    reuse: Reuse,
    expectation: Expectation,
    shared: Vec<Http2>,
    /// The dial that all requests wait for while the protocol is, or may be, HTTP/2.
    dialing: Option<WeakShared<Dialing>>,
    speaks: Option<Speaks>,
    is_swept: bool,
}

impl PoolState {
    fn new(places: Places, sleep: SleepWatch) -> Self {
        Self {
            places,
            sleep,
            idle: Vec::new(),
            reuse: Reuse::default(),
            expectation: Expectation::default(),
            shared: Vec::new(),
            dialing: None,
            speaks: None,
            is_swept: false,
        }
    }

    /// Drops connections that were idle while the computer slept: they look quiet and may be dead, because a
    /// close by the server did not arrive.
    fn forget_if_slept(&mut self) {
        if self.sleep.slept().is_some() {
            self.idle.clear();
            self.shared.clear();
        }
    }

    /// Takes the idle connection used last that a request of this lane may use. A connection that it must not
    /// use is closed, because a new one takes its place.
    fn take_idle(&mut self, lane: Lane, except: Option<ConnectionId>) -> Option<Http1> {
        let (reuse, now) = (&self.reuse, Instant::now());
        self.idle.retain(|it| it.rest().is_none_or(|rested| reuse.trusts(lane, rested, now)));
        let place = self.idle.iter().rposition(|it| Some(it.id()) != except)?;
        Some(self.idle.remove(place))
    }
}

impl Pool {
    /// Makes no connection yet.
    pub fn new(dial: Arc<dyn Dial>, endpoint: Endpoint, settings: PoolSettings) -> Self {
        let PoolSettings { connect_within, limit, sleep } = settings;
        let places = Places::new(limit);
        let capacity = places.for_calls();
        let state = Mutex::new(PoolState::new(places, sleep));
        let (register, changed) = (Arc::default(), Notify::new());
        let room = Room { dial, endpoint, connect_within, capacity, state, register, changed };
        Self { room: Arc::new(room) }
    }

    /// Leases a connection for one request: the one that its route names, or any.
    pub(crate) async fn lease(&self, lane: Lane, route: Route) -> Result<Lease, Failure> {
        self.room.state().forget_if_slept();
        match route {
            Route::Any => self.lease_any(lane, None).await,
            Route::Except(id) => self.lease_any(lane, Some(id)).await,
            Route::Instead(id) => {
                self.leave(id);
                self.lease_any(lane, Some(id)).await
            }
            Route::Only(id) => {
                let named = self.lease_named(lane, id).await;
                named.ok_or(Failure::not_sent(Cause::ConnectionGone))
            }
            Route::Prefer(id) => match timeout(expected::GRACE, self.lease_named(lane, id)).await {
                Ok(Some(lease)) => Ok(lease),
                Ok(None) | Err(_) => self.lease_any(lane, None).await,
            },
        }
    }

    /// Leases an idle connection, or else a new one.
    async fn lease_any(&self, lane: Lane, except: Option<ConnectionId>) -> Result<Lease, Failure> {
        let (mut place, mut grace_ends) = (None, None);
        loop {
            if let Some(stream) = self.take_stream() {
                return Ok(Lease::Http2(stream));
            }
            match self.take_idle(lane, except, &mut place).await {
                Taken::Idle(idle) => return Ok(Lease::Http1(idle.in_use(place, lane))),
                Taken::NoPlace => place = Some(self.place_in_line(lane).await),
                // A request that stays long need not wait for a connection that is needed elsewhere.
                Taken::Nothing
                    if except.is_none() && self.one_comes_back_by(&mut grace_ends).await => {}
                Taken::Nothing if self.room.dials_alone() => {
                    return self.dial_alone(lane, place).await;
                }
                Taken::Nothing => self.dial_for_all().await?,
            }
        }
    }

    /// Returns how many calls may be out at once on HTTP/1.1.
    pub(crate) fn capacity(&self) -> usize {
        self.room.capacity
    }

    /// Makes a connection for the next requests. The shared ones are no longer trusted and not used again;
    /// requests on them may go on.
    pub(crate) async fn connect(&self) -> Result<(), Failure> {
        let place = ConnectionPermit::of_a_connect(&self.room);
        self.room.make_room();
        match self.room.dial_once().await? {
            Dialed::Http1(connection) => self.room.keep(connection, Some(place)),
            Dialed::Http2(connection) => self.room.share(connection, Beside::Nothing),
        }
        Ok(())
    }

    /// Takes back a connection whose answer was read to the end.
    pub(crate) fn give_back(&self, connection: Http1) {
        let (connection, place) = connection.rested();
        self.room.keep(connection, place);
    }

    /// Notes that a request was answered.
    pub(crate) fn answered(&self, connection: &Http1) {
        if connection.reused().is_some() {
            self.room.state().reuse.worked();
        }
    }

    /// Notes that a connection was closed before a request on it was answered.
    pub(crate) fn lost(&self, connection: &Http1) {
        if let Some(made) = connection.reused() {
            self.room.state().reuse.lost(made, Instant::now());
        }
    }

    /// Forgets a shared connection on which a request could not be sent, or not whole.
    pub(crate) fn forget(&self, failed: &Http2Stream) {
        self.room.state().shared.retain(|connection| !connection.carries(failed));
    }

    /// Sends nothing more on a connection. Requests on it may go on.
    fn leave(&self, id: ConnectionId) {
        let mut state = self.room.state();
        state.idle.retain(|connection| connection.id() != id);
        state.shared.retain(|connection| connection.id() != id);
    }

    fn take_stream(&self) -> Option<Http2Stream> {
        let mut state = self.room.state();
        state.shared.retain(Http2::is_usable);
        state.shared.iter().find_map(Http2::stream)
    }

    /// Takes the idle connection used last, if it is still good, and a permit to use it.
    async fn take_idle(
        &self,
        lane: Lane,
        except: Option<ConnectionId>,
        place: &mut Option<ConnectionPermit>,
    ) -> Taken {
        loop {
            let mut connection = match self.room.checkout(lane, except, place) {
                Taken::Idle(connection) => connection,
                none => return none,
            };
            if connection.is_usable() && connection.is_ready_soon().await {
                return Taken::Idle(connection);
            }
            if let Some(rest) = connection.died_at_rest() {
                self.room.state().reuse.failed(rest, Instant::now());
            }
        }
    }

    /// Waits for a permit, for as long as it takes. Streams that are only drained must not hold one
    /// meanwhile.
    async fn place_in_line(&self, lane: Lane) -> ConnectionPermit {
        let (mut turn, mut pause) = (self.room.stand_in_line(lane), expected::GRACE);
        loop {
            match timeout(pause, &mut turn).await {
                Ok(place) => return place.expect("the room keeps the line, and we keep the room"),
                Err(_) => self.room.close_a_leftover(),
            }
            // If each of many waiting requests woke as often as a single one, they would do nothing else.
            pause *= 2;
        }
    }
}

impl Room {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an idle connection, if there is a permit to use it.
    fn checkout(
        self: &Arc<Self>,
        lane: Lane,
        except: Option<ConnectionId>,
        place: &mut Option<ConnectionPermit>,
    ) -> Taken {
        let mut state = self.state();
        // On HTTP/2 the server limits the streams.
        if place.is_none() && state.speaks != Some(Speaks::Http2) {
            *place = ConnectionPermit::take(self, &mut state, lane);
            if place.is_none() {
                return Taken::NoPlace;
            }
        }
        state.take_idle(lane, except).map_or(Taken::Nothing, Taken::Idle)
    }

    /// Closes idle connections until there is room for them beside those in use.
    fn make_room(&self) {
        let mut state = self.state();
        while !state.idle.is_empty() && state.places.has_no_room_for(state.idle.len()) {
            state.idle.remove(0);
        }
    }

    fn keep(self: &Arc<Self>, connection: Http1, place: Option<ConnectionPermit>) {
        let mut state = self.state();
        // Under the lock, so that a request that looks for the connection either finds it idle or is already
        // waiting for it.
        let Some(returned) = self.register.hand_over(Returned { connection, place }) else {
            return;
        };
        state.idle.push(returned.connection);
        if let Some(place) = returned.place {
            place.leave(&mut state);
        }
        drop(state);
        self.changed.notify_one();
        self.ensure_swept();
    }

    fn share(self: &Arc<Self>, connection: Http2, beside: Beside) {
        let mut state = self.state();
        if beside == Beside::Nothing {
            state.shared.clear();
        }
        state.shared.push(connection);
        drop(state);
        self.ensure_swept();
    }

    /// Starts the task that closes idle connections in time, even if no request comes.
    fn ensure_swept(self: &Arc<Self>) {
        if !std::mem::replace(&mut self.state().is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }
}

/// The result of looking for an idle connection.
enum Taken {
    Idle(Http1),
    NoPlace,
    Nothing,
}

/// Closes connections that were idle for too long, until there are none.
async fn sweep(room: Weak<Room>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(room) = room.upgrade() else { return };
        let mut state = room.state();
        state.idle.retain(Http1::is_usable);
        state.shared.retain(Http2::is_usable);
        if state.idle.is_empty() && state.shared.is_empty() {
            state.is_swept = false;
            return;
        }
    }
}

/// How long a connection may be idle: most servers and load balancers keep one for a minute or longer.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// How often idle connections are checked: an idle socket costs little, and need not close within less than
/// seconds of its limit.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
