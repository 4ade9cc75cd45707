//! The open connections: which one is closed when there are too many, and which because it is silent.
//!
//! ```text
//!   Unauthenticated ──shows the token──▶ Authenticated        each has places of its own
//!          └── silent for 10 s, or the longest silent when places run out ──▶ closed
//!   Authenticated ── the longest silent when places run out ──▶ closed
//!   either ── takes less than 64 KiB of an answer in a minute ──▶ closed
//!   either ── holds 256 KiB with heads and small bodies ──▶ its next request is refused, or waits
//! ```
//! Closing a connection that has not shown the token loses nothing, because it has no request that will be
//! answered. An authenticated connection is closed for room only between two requests.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use table::Table;

/// All open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    table: Mutex<Table>,
    /// The most authenticated connections.
    most: usize,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    state: Mutex<ConnectionsState>,
    /// Wakes the task that waits for the time to close.
    changed: Notify,
}

#[derive(Debug)]
struct ConnectionsState {
    standing: Standing,
    /// Requests that are being answered, until the last byte of the answer: since when a piece of it waits to
    /// be taken, which is known in HTTP/2 only.
    requests: BTreeMap<u64, Option<Instant>>,
    next_request: u64,
    /// The bytes of heads and small bodies of its requests. In HTTP/2 there may be many at once.
    held: usize,
    /// When it was opened, or when a request was last seen or answered.
    last_sign: Instant,
    /// The current wait for a client that does not read, if there is one.
    stall: Option<Stall>,
    /// The sessions that the connection is used for; in HTTP/2 there may be several at once.
    sessions: BTreeSet<u64>,
    is_closing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Authenticated,
    Unauthenticated,
}

#[derive(Clone, Copy, Debug)]
struct Stall {
    since: Instant,
    /// How many bytes the client has accepted since then.
    taken: usize,
}

/// The error when all places are taken by connections in use.
#[derive(Debug)]
pub(crate) struct NoPlace;

impl Connections {
    /// Creates an empty table with places for this many authenticated connections.
    pub(crate) fn new(most: usize) -> Self {
        Self { table: Mutex::default(), most }
    }

    /// Admits a connection. If too many have not shown the token, the one among them that was silent for
    /// longest is closed.
    pub(crate) fn admit(self: &Arc<Self>) -> OpenConnection {
        let mut table = self.table();
        let connection = table.add();
        if table.count(Standing::Unauthenticated) > self.most_unauthenticated() {
            table.close_longest_silent(Standing::Unauthenticated);
        }
        drop(table);
        OpenConnection { connections: self.clone(), connection }
    }

    /// The most connections without the token. One needs a place only for the head of one request; but a client
    /// that makes many calls at once opens many connections at once.
    fn most_unauthenticated(&self) -> usize {
        (self.most / 3).max(1)
    }

    /// Closes the connection that was silent for longest among those that have not shown the token. Returns
    /// whether there was one.
    pub(crate) fn make_room(&self) -> bool {
        self.table().close_longest_silent(Standing::Unauthenticated)
    }

    /// Moves a connection that has shown the token to a place for authenticated ones.
    pub(crate) fn authenticate(&self, connection: &Connection) -> Result<(), NoPlace> {
        if connection.state().standing == Standing::Authenticated {
            return Ok(());
        }
        let mut table = self.table();
        if table.count(Standing::Authenticated) >= self.most
            && !table.close_longest_silent(Standing::Authenticated)
        {
            return Err(NoPlace);
        }
        table.authenticate(connection);
        connection.state().standing = Standing::Authenticated;
        connection.changed.notify_one();
        Ok(())
    }

    /// Closes the connections that have read nothing for `long`: all of them, or those of one session.
    /// Returns whether there was any.
    pub(crate) fn close_stalled(&self, session: Option<u64>, long: Duration) -> bool {
        let mut table = self.table();
        let stalled = table.of(session).filter(|it| it.is_stalled_for(long));
        let stalled: Vec<_> = stalled.cloned().collect();
        stalled.iter().for_each(|connection| table.close(connection));
        !stalled.is_empty()
    }

    /// Whether no connection is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.table().is_empty()
    }

    /// Whether something is being written to a connection: to any, or to one of a session.
    pub(crate) fn is_writing(&self, session: Option<u64>) -> bool {
        self.table().of(session).any(|it| it.is_stalled_for(Duration::ZERO))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn new(number: u64) -> Self {
        let state = ConnectionsState {
            standing: Standing::Unauthenticated,
            requests: BTreeMap::new(),
            next_request: 0,
            held: 0,
            last_sign: Instant::now(),
            stall: None,
            sessions: BTreeSet::new(),
            is_closing: false,
        };
        Self { number, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Marks a request as being answered until the guard is dropped.
    pub(crate) fn answer(self: &Arc<Self>) -> Answering {
        let mut state = self.state();
        if state.requests.is_empty() {
            state.sessions.clear();
        }
        state.next_request += 1;
        let request = state.next_request;
        state.requests.insert(request, None);
        state.last_sign = Instant::now();
        drop(state);
        Answering { connection: self.clone(), request }
    }

    /// Takes room for a head or a small body; `None` if the requests of this connection hold too much.
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> Option<ConnectionRoom> {
        let mut state = self.state();
        if state.held + bytes > MOST_HELD {
            return None;
        }
        state.held += bytes;
        drop(state);
        Some(ConnectionRoom { connection: self.clone(), bytes })
    }

    /// Records the session that the connection is used for.
    pub(crate) fn serves(&self, session: u64) {
        let mut state = self.state();
        state.sessions.insert(session);
        if state.sessions.len() > MOST_SESSIONS {
            state.sessions.pop_first();
        }
    }

    /// Records that the client has accepted this many bytes.
    pub(crate) fn wrote(&self, bytes: usize) {
        if let Some(stall) = &mut self.state().stall {
            stall.taken += bytes;
            if stall.taken >= PACE {
                *stall = Stall { since: Instant::now(), taken: 0 };
            }
        }
    }

    /// Records that the client accepts no bytes at the moment.
    pub(crate) fn write_is_blocked(&self) {
        let mut state = self.state();
        if state.stall.is_none() {
            state.stall = Some(Stall { since: Instant::now(), taken: 0 });
            self.changed.notify_one();
        }
    }

    /// Records that everything was written.
    pub(crate) fn wrote_all(&self) {
        self.state().stall = None;
    }

    /// Waits until the connection must be closed.
    pub(crate) async fn must_close(&self) {
        loop {
            let closes_at = self.state().closes_at();
            match closes_at {
                Some(at) if at <= Instant::now() => return,
                Some(at) => tokio::select! {
                    biased;
                    () = sleep_until(at) => {}
                    () = self.changed.notified() => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    fn is_stalled_for(&self, long: Duration) -> bool {
        self.state().stalled_since().is_some_and(|since| since.elapsed() >= long)
    }

    fn close(&self) {
        self.state().is_closing = true;
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, ConnectionsState> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionsState {
    fn closes_at(&self) -> Option<Instant> {
        if self.is_closing {
            return Some(self.last_sign);
        }
        let rest = match self.standing {
            Standing::Authenticated => REST,
            Standing::Unauthenticated => HEAD_TIME,
        };
        let silent = self.requests.is_empty().then(|| self.last_sign + rest);
        let stalled = self.stalled_since().map(|since| since + LONGEST_STALL);
        silent.into_iter().chain(stalled).min()
    }

    /// Since when nothing happens on it; `None` if it is in use.
    fn silent_since(&self) -> Option<Instant> {
        let is_used = !self.requests.is_empty()
            || self.standing == Standing::Authenticated && self.stall.is_some();
        (!is_used).then_some(self.last_sign)
    }

    /// Since when the client has not read something that was written.
    fn stalled_since(&self) -> Option<Instant> {
        let unread = self.requests.values().copied().flatten();
        self.stall.map(|stall| stall.since).into_iter().chain(unread).min()
    }
}

/// A connection that was admitted. Dropping it frees its place.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    connections: Arc<Connections>,
    pub(crate) connection: Arc<Connection>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.table().remove(&self.connection);
    }
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(crate) struct Answering {
    connection: Arc<Connection>,
    request: u64,
}

impl Answering {
    /// Records that the client must take a piece of the answer.
    pub(crate) fn piece_waits(&self) {
        let now = Instant::now();
        self.connection.state().requests.insert(self.request, Some(now));
        self.connection.changed.notify_one();
    }

    /// Records that the client has taken it.
    pub(crate) fn piece_was_taken(&self) {
        self.connection.state().requests.insert(self.request, None);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut state = self.connection.state();
        state.requests.remove(&self.request);
        state.last_sign = Instant::now();
        drop(state);
        self.connection.changed.notify_one();
    }
}

/// Room that a request takes of what its connection may hold, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionRoom {
    connection: Arc<Connection>,
    bytes: usize,
}

impl ConnectionRoom {
    /// Takes more. Returns whether there was enough.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let more = self.connection.hold(bytes);
        // It is given back with this.
        more.is_some_and(|mut more| {
            self.bytes += std::mem::take(&mut more.bytes);
            true
        })
    }
}

impl Drop for ConnectionRoom {
    fn drop(&mut self) {
        self.connection.state().held -= self.bytes;
    }
}

/// How long a connection that has not shown the token may take for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long an authenticated connection may have no request.
const REST: Duration = Duration::from_secs(60);
/// How long an answer may stay unread.
const LONGEST_STALL: Duration = Duration::from_secs(60);
/// The most sessions that are remembered of one connection; the newest are.
const MOST_SESSIONS: usize = 1024;
/// The largest head and several small bodies; or the heads and bodies of 200 calls.
const MOST_HELD: usize = 256 * 1024;
/// A client that takes this much in that time is slow, but not stalled.
const PACE: usize = 64 * 1024;

#[cfg(test)]
mod tests;
