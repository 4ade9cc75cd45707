//! The network between clients and a server: cables that can be broken in exact ways.
//!
//! ```text
//!   client ── pipe ──▶ Cable ── pipe ──▶ Server (ridethrough-lab), or a gateway
//!                        │
//!                        └ delay, slices, a pause, or its end at an exact byte
//! ```
//!
//! The creator of a [`Network`] says what each new connection is like. A connection without faults is the
//! server's own pipe, without a cable.

mod cable;
mod meter;

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{BoxFuture, Connection, Dial, Endpoint};
use ridethrough_lab::{Pipe, Server, pipe};
use tokio::task::JoinSet;

pub use cable::{Break, Cable, Harm};
pub use meter::{Meter, Passed, Way};

/// The result of one attempt to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A connection over this cable.
    Connected(Cable),
    /// No answer to the SYN, for ever.
    Hangs,
    /// Connection refused.
    Refused,
}

/// Something that accepts connections.
pub trait Reachable: Send + Sync + 'static {
    /// Connects to it.
    fn dial(&self) -> BoxFuture<'_, io::Result<Pipe>>;

    /// Whether its clients speak HTTP/2.
    fn is_http2(&self) -> bool;
}

impl Reachable for Server {
    fn dial(&self) -> BoxFuture<'_, io::Result<Pipe>> {
        Box::pin(self.dial())
    }

    fn is_http2(&self) -> bool {
        self.protocol().is_http2()
    }
}

/// A client's way to one server. Clones share one network.
#[derive(Clone)]
pub struct Network {
    server: Arc<Mutex<Arc<dyn Reachable>>>,
    lines: Arc<dyn Fn(u64) -> Line + Send + Sync>,
    dialled: Arc<AtomicU64>,
    cables: Arc<Mutex<JoinSet<()>>>,
    meter: Option<Meter>,
}

impl Network {
    /// Creates a network in which `lines` says what the n-th dial leads to; the first is number 0.
    pub fn new(
        server: impl Reachable,
        lines: impl Fn(u64) -> Line + Send + Sync + 'static,
    ) -> Self {
        let server: Arc<dyn Reachable> = Arc::new(server);
        let server = Arc::new(Mutex::new(server));
        let (lines, dialled, cables) = (Arc::new(lines), Arc::default(), Arc::default());
        Self { server, lines, dialled, cables, meter: None }
    }

    /// Counts the bytes on every line; each line is then a cable, even without faults.
    #[must_use]
    pub fn metered(mut self, meter: Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Leads further dials to this server, which replaces the old one.
    pub fn lead_to(&self, server: impl Reachable) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(server);
    }

    fn server(&self) -> Arc<dyn Reachable> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how often a client has dialled.
    pub fn dialled(&self) -> u64 {
        self.dialled.load(Ordering::Relaxed)
    }

    /// Ends every cable, stalled ones included.
    pub fn hang_up(&self) {
        self.cables().abort_all();
    }

    fn cables(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.cables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects, as the network and the server let it.
    pub(crate) async fn connect(&self) -> Result<Pipe, Failure> {
        let number = self.dialled.fetch_add(1, Ordering::Relaxed);
        let cable = match (self.lines)(number) {
            Line::Connected(cable) => cable,
            Line::Hangs => pending().await,
            Line::Refused => return Err(Failure::not_sent(Cause::ConnectRefused)),
        };
        tokio::time::sleep(cable.delay * 2).await;
        let refused = |error: io::Error| {
            Failure::not_sent(Cause::ConnectRefused).with_detail(error.to_string())
        };
        let far = self.server().dial().await.map_err(refused)?;
        let tally = self.meter.as_ref().map(|meter| meter.tally(number));
        if tally.is_none() && cable.is_perfect() {
            return Ok(far);
        }
        let (client, near) = pipe(CAPACITY);
        let mut cables = self.cables();
        // A join set keeps finished tasks until they are joined.
        while cables.try_join_next().is_some() {}
        cables.spawn(cable.carry(near, far, tally.unwrap_or_default()));
        Ok(client)
    }

    /// Returns what a client makes of its end of a connection.
    pub(crate) fn connection(&self, pipe: Pipe) -> Connection {
        let look = Look::at(&pipe);
        let connection = Connection::new(pipe, look);
        if self.server().is_http2() { connection.http2() } else { connection }
    }
}

impl Dial for Network {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let pipe = self.connect().await?;
            Ok(self.connection(pipe))
        })
    }
}

/// Looks at a pipe of the lab for the client.
pub(crate) struct Look(ridethrough_lab::Peek);

impl Look {
    pub(crate) fn at(pipe: &Pipe) -> Self {
        Self(pipe.peek())
    }
}

impl ridethrough::transport::Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}

/// How many unread bytes a cable holds each way at the client's end.
const CAPACITY: usize = 64 << 10;
