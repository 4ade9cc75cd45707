//! Connections over TCP.
//!
//! Addresses of both families are tried in turn, a quarter of a second apart, and the first that
//! connects wins (RFC 8305). One dial is one race; there is no retry here.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use ridethrough_core::{Cause, Failure};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::Instant;

use super::{Connection, Dial, Peek, Steps};
use crate::endpoint::Endpoint;

/// Dials with the operating system's sockets and resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

impl Dial for Tcp {
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(connect(to, |_| true))
    }
}

/// The test whether an address may be connected to.
pub type AddressFilter = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// Dials like [`Tcp`], but only to addresses that its filter accepts.
pub(crate) struct FilteredTcp(AddressFilter);

impl FilteredTcp {
    pub(crate) fn new(filter: AddressFilter) -> Self {
        Self(filter)
    }
}

impl Dial for FilteredTcp {
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(connect(to, |ip| (self.0)(ip)))
    }
}

async fn connect(
    to: &Endpoint,
    may_connect: impl Fn(IpAddr) -> bool,
) -> Result<Connection, Failure> {
    let began = Instant::now();
    let mut addresses = resolve(to).await?;
    addresses.retain(|address| may_connect(address.ip()));
    if addresses.is_empty() {
        return Err(Failure::not_sent(Cause::ConnectRefused)
            .with_detail("none of its addresses may be connected to"));
    }
    let resolved = began.elapsed();
    let stream = race(addresses).await.map_err(|error| not_connected(&error))?;
    prepare(&stream).map_err(|error| not_connected(&error))?;
    let steps = Steps {
        resolved: Some(resolved),
        connected: Some(began.elapsed().saturating_sub(resolved)),
        peer: stream.peer_addr().ok(),
        ..Steps::default()
    };
    let (reading, writing) = stream.into_split();
    let writing = Arc::new(writing);
    let socket = Socket { reading, writing: writing.clone() };
    let connection = Connection::new(socket, SocketPeek(writing));
    Ok(Connection { steps, ..connection })
}

async fn resolve(to: &Endpoint) -> Result<Vec<SocketAddr>, Failure> {
    let found = tokio::net::lookup_host((to.host_to_resolve(), to.port())).await;
    let addresses: Vec<SocketAddr> = found.map_err(|error| unresolved(&error))?.collect();
    if addresses.is_empty() {
        Err(Failure::not_sent(Cause::NameUnknown))
    } else {
        Ok(alternate(addresses))
    }
}

/// Alternates the address families, beginning with the resolver's first.
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (favourites, others): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut others = others.into_iter();
    let mut turns = Vec::new();
    for favourite in favourites {
        turns.push(favourite);
        turns.extend(others.next());
    }
    turns.extend(others);
    turns
}

/// Connects to the address that answers first; the other attempts are dropped.
async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut running = FuturesUnordered::new();
    let mut failure = None;
    loop {
        if let Some(address) = waiting.next() {
            running.push(TcpStream::connect(address));
        }
        tokio::select! {
            biased;
            Some(result) = running.next() => match result {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = Some(error),
            },
            () = tokio::time::sleep(HEAD_START), if waiting.len() > 0 => {}
        }
        if running.is_empty() && waiting.len() == 0 {
            return Err(failure.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()));
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_EVERY);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Returns the failure for a name without an address. Words that only repeat the cause are left out.
fn unresolved(error: &io::Error) -> Failure {
    let failure = Failure::not_sent(Cause::NameUnknown);
    let words = plain(error);
    let reason = words.rsplit(": ").next().unwrap_or(&words);
    match reason {
        "Name or service not known" | "nodename nor servname provided, or not known" => failure,
        reason => failure.with_detail(reason),
    }
}

fn not_connected(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Failure::not_sent(Cause::ConnectRefused),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            Failure::not_sent(Cause::Reset)
        }
        io::ErrorKind::TimedOut => Failure::not_sent(Cause::ConnectTimedOut),
        _ => Failure::not_sent(Cause::ConnectRefused).with_detail(plain(error)),
    }
}

/// Returns the words of the system, without its error number.
fn plain(error: &io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A socket that HTTP reads and writes while the pool can look at it.
struct Socket {
    /// The reading half. Tokio's own read knows that a buffer which was not filled has emptied the socket,
    /// and does not ask the kernel again.
    reading: OwnedReadHalf,
    writing: Arc<OwnedWriteHalf>,
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reading).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let stream: &TcpStream = (*self.writing).as_ref();
        loop {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream: &TcpStream = (*self.writing).as_ref();
        loop {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_write_vectored(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from((*self.writing).as_ref()).shutdown(std::net::Shutdown::Write))
    }
}

struct SocketPeek(Arc<OwnedWriteHalf>);

impl Peek for SocketPeek {
    fn is_quiet(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let seen = SockRef::from((*self.0).as_ref()).peek(&mut byte);
        matches!(seen, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// The head start of one address over the next.
const HEAD_START: Duration = Duration::from_millis(250);
/// How long a socket is silent before the kernel probes the peer.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_and_the_favourite_goes_first() {
        let v6 = |port| SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1u16], port));
        let v4 = |port| SocketAddr::from(([127, 0, 0, 1u8], port));

        let turns = alternate(vec![v6(1), v6(2), v6(3), v4(4)]);

        assert_eq!(turns, [v6(1), v4(4), v6(2), v6(3)]);
    }

    #[test]
    fn a_failure_to_connect_says_each_thing_once() {
        for (kind, told) in [
            (io::ErrorKind::ConnectionRefused, "connection refused"),
            (io::ErrorKind::ConnectionReset, "connection reset"),
            (io::ErrorKind::TimedOut, "no connection within the time limit"),
        ] {
            assert_eq!(not_connected(&kind.into()).to_string(), told);
        }
        let lookup = |reason: &str| {
            let words = format!("failed to lookup address information: {reason}");
            unresolved(&io::Error::other(words)).to_string()
        };
        assert_eq!(lookup("Name or service not known"), "the server's name does not resolve");
        assert_eq!(
            lookup("Temporary failure in name resolution"),
            "the server's name does not resolve (Temporary failure in name resolution)"
        );
    }

    #[test]
    fn the_number_of_an_error_is_not_told() {
        let unreachable = not_connected(&rustix::io::Errno::NETUNREACH.into());

        assert_eq!(unreachable.to_string(), "connection refused (Network is unreachable)");
    }

    #[tokio::test]
    async fn the_kernel_asks_after_15_s_of_silence_and_every_10_s_from_then_on() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();

        prepare(&stream).unwrap();

        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(15));
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(10));
        assert!(stream.nodelay().unwrap());
    }
}
