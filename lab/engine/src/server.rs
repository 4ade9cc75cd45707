//! Accepts byte streams, counts them, and serves each with a service.
//!
//! The service decides how the server *answers*; this module decides how it can be *reached*.

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::carrier::Protocol;
use crate::connection::{Connection, Order, Processed};
use crate::lock::lock;
use crate::pipe::{Pipe, pipe};
use crate::staff::{Service, Staff};
use crate::tls::{Authority, Certificate, TlsSettings};
use crate::wire::Fuse;

mod accept;
mod listening_socket;

use listening_socket::ListeningSocket;

/// A server that can be reached through sockets and through pipes. Clones share one server.
///
/// It runs until it is killed or its runtime ends; dropping it stops nothing.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    protocol: Protocol,
    authority: Authority,
    staff: Staff,
    state: Mutex<ServerState>,
}

struct ServerState {
    mood: Mood,
    /// The TLS settings of new connections, if there is TLS.
    tls: Option<Arc<TlsSettings>>,
    http2: Http2,
    socket: ListeningSocket,
    open: BTreeMap<u64, Arc<Connection>>,
    /// Every connection that was served; the first is number one.
    visits: Vec<Visit>,
    dials: u64,
    /// Sockets that the kernel accepted in a black hole, kept so that they stay silent.
    swallowed: Vec<TcpStream>,
}

/// How a server treats new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mood {
    /// Dials hang. A kernel cannot withhold its accept, so a socket connects and is never read.
    BlackHole,
    /// Connections are accepted, and closed at once (FIN).
    CloseOnAccept,
    /// Dials are refused. The port stays reserved.
    Down,
    /// Connections are accepted, and reset at once.
    ResetOnAccept,
    /// Connections are served.
    #[default]
    Up,
}

/// A connection that was served, from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// When it was accepted.
    pub opened: Instant,
    /// When it was closed completely; `None` while it lives.
    pub closed: Option<Instant>,
}

/// HTTP/2 settings that a server announces. A setting that is `None` keeps h2's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Http2 {
    /// How many streams a client may have open at once.
    pub max_concurrent_streams: Option<u32>,
    /// How many bytes of a request's body a client may send before the server asks for more.
    pub initial_window_size: Option<u32>,
}

impl Server {
    /// Creates a server, with an authority of its own for TLS.
    pub fn new(protocol: Protocol, service: impl Service) -> Self {
        Self::with_authority(protocol, Authority::new(), service)
    }

    /// Creates a server whose certificates are signed by this authority.
    ///
    /// They are made for `localhost`, `127.0.0.1` and `server.test`.
    pub fn with_authority(protocol: Protocol, authority: Authority, service: impl Service) -> Self {
        let is_tls = protocol.is_tls();
        let tls = is_tls.then(|| authority.settings(protocol.alpn()));
        let state = ServerState {
            mood: Mood::Up,
            tls,
            http2: Http2::default(),
            socket: ListeningSocket::None,
            open: BTreeMap::new(),
            visits: Vec::new(),
            dials: 0,
            swallowed: Vec::new(),
        };
        let staff = Staff::new(service);
        Self { shared: Arc::new(Shared { protocol, authority, staff, state: Mutex::new(state) }) }
    }

    /// Returns the protocol that this server speaks.
    pub fn protocol(&self) -> Protocol {
        self.shared.protocol
    }

    /// Returns the authority that signs its certificates.
    pub fn authority(&self) -> &Authority {
        &self.shared.authority
    }

    /// Shows this certificate on new connections. It has no effect without TLS.
    pub fn set_certificate(&self, certificate: Certificate) {
        if self.shared.protocol.is_tls() {
            let config = certificate.config(&self.shared.authority, self.shared.protocol.alpn());
            lock(&self.shared.state).tls = Some(config);
        }
    }

    /// Announces these settings on new HTTP/2 connections.
    pub fn http2(&self, settings: Http2) {
        lock(&self.shared.state).http2 = settings;
    }

    /// Listens on a free port of 127.0.0.1, and returns the address. Later calls return that address again.
    ///
    /// # Errors
    ///
    /// Fails if the system has no free port.
    pub async fn listen(&self) -> io::Result<SocketAddr> {
        self.listen_at(0).await
    }

    /// Listens as [`listen`](Self::listen) does, on this port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// Fails if the port is taken.
    pub async fn listen_at(&self, port: u16) -> io::Result<SocketAddr> {
        let mut state = lock(&self.shared.state);
        let address = state.socket.reserve(port)?;
        if state.mood != Mood::Down {
            self.shared.listen(&mut state)?;
        }
        Ok(address)
    }

    /// Connects through a pipe and returns the client's end. Must be called in a runtime.
    ///
    /// # Errors
    ///
    /// Fails with `ConnectionRefused` while the server is down, and with `TimedOut` while it is in a black
    /// hole, where [`dial`](Self::dial) would hang.
    pub fn connect(&self) -> io::Result<Pipe> {
        let (client, server) = pipe(CAPACITY);
        let mut state = lock(&self.shared.state);
        state.dials += 1;
        match state.mood {
            Mood::BlackHole => return Err(io::ErrorKind::TimedOut.into()),
            Mood::Down => return Err(io::ErrorKind::ConnectionRefused.into()),
            Mood::ResetOnAccept => server.control().reset(),
            Mood::CloseOnAccept => drop(server),
            Mood::Up => {
                let fuse = Fuse::of_pipe(&server);
                let work = self.shared.admit(&mut state, Box::new(server), fuse);
                drop(state);
                self.shared.staff.spawn(work);
            }
        }
        Ok(client)
    }

    /// Connects as [`connect`](Self::connect) does, but in a black hole it hangs for ever, even if the mood
    /// changes later: its one SYN is lost.
    ///
    /// # Errors
    ///
    /// Fails with `ConnectionRefused` while the server is down.
    pub async fn dial(&self) -> io::Result<Pipe> {
        match self.connect() {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => pending().await,
            connected => connected,
        }
    }

    /// Changes how new connections are treated. Open ones stay open.
    ///
    /// # Panics
    ///
    /// Panics if the system does not let a socket listen again on the port that it was closed on.
    pub fn set_mood(&self, mood: Mood) {
        self.shared.change_mood(mood).expect("the port is reserved while the server is down");
    }

    /// Dies as by `kill -9`: stops listening, resets every connection, aborts handlers.
    ///
    /// A handler that calls this is aborted, too.
    pub async fn kill(&self) {
        self.shared.kill().await;
    }

    /// Restarts on the old port.
    ///
    /// # Errors
    ///
    /// Fails if the port cannot be listened on.
    pub async fn restart(&self) -> io::Result<()> {
        self.shared.change_mood(Mood::Up)
    }

    /// Returns how many connections were served in all.
    pub fn connections(&self) -> u64 {
        lock(&self.shared.state).visits.len() as u64
    }

    /// Returns every connection that was served. The number of the first is one.
    pub fn visits(&self) -> Vec<Visit> {
        lock(&self.shared.state).visits.clone()
    }

    /// Returns how many connections are open: neither side has closed them.
    pub fn open_connections(&self) -> usize {
        let state = lock(&self.shared.state);
        state.open.values().filter(|connection| !connection.is_hung_up()).count()
    }

    /// Returns how many times a client tried to connect, served or not. Sockets that the kernel refused are
    /// not seen.
    pub fn dials(&self) -> u64 {
        lock(&self.shared.state).dials
    }

    /// Closes every connection with no request under way: FIN on HTTP/1.1, a graceful GOAWAY on
    /// HTTP/2.
    pub fn close_idle(&self) {
        self.shared.each(|connection| connection.order_if_idle(Order::Close));
    }

    /// HTTP/1.1: writes these bytes on every connection with no request under way, and closes it.
    /// An unsolicited 408, for example. HTTP/2 connections are left alone.
    pub fn say_on_idle(&self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.shared.each(|connection| connection.order_if_idle(Order::Say(bytes.clone())));
    }

    /// HTTP/2: sends a GOAWAY frame on every connection. HTTP/1.1 connections are left alone.
    pub fn go_away(&self, processed: Processed) {
        if self.shared.protocol.is_http2() {
            self.shared.each(|connection| connection.order(Order::GoAway(processed)));
        }
    }

    /// Resets every open connection; the server stays up.
    pub fn reset_connections(&self) {
        self.shared.each(|connection| connection.reset(None));
    }

    /// Turns every open pipe into a black hole; new ones are served. Sockets are left alone, because the
    /// kernel acknowledges bytes in any case.
    pub fn stall_connections(&self) {
        self.shared.each(Connection::stall);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("protocol", &self.shared.protocol).finish_non_exhaustive()
    }
}

/// How many unread bytes a pipe holds each way, about as many as a socket does.
const CAPACITY: usize = 256 << 10;
