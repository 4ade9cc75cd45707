//! The layer below HTTP: dials, which give byte streams to the server.
//!
//! Sockets, proxies, TLS and in-memory pipes all come through [`Dial`], so one HTTP code runs over each of
//! them. A dial never speaks HTTP to the server and never retries.

mod alert;
mod meter;
#[cfg(feature = "proxy")]
mod proxy;
mod refusal;
mod route;
mod tcp;
mod tls;

pub(crate) use meter::{Meter, Metered};
pub(crate) use refusal::CertificateRefusal;
pub use route::{Proxying, Route};
pub use tcp::AddressFilter;
pub use tcp::Tcp;
pub use tls::{ClientCertificate, roots_in};
pub(crate) use tls::{Tls, TlsSettings};

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_core::Failure;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::endpoint::Endpoint;

/// Makes connections to a server.
///
/// The stream is the one below TLS: for an `https` endpoint the client puts TLS on top of it. With
/// `ClientBuilder::proxy` the endpoint is the proxy's. The client limits the
/// time of a dial; dropping the future must release what it holds.
///
/// A dial that fails says why by a [`Failure`]; nothing was sent then, whatever the failure says about
/// delivery.
///
/// ```
/// use ridethrough_transport::{BoxFuture, Cause, Connection, Dial, Endpoint, Failure, Peek};
///
/// /// Dials a server in this process.
/// struct InProcess;
///
/// impl Dial for InProcess {
///     fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
///         Box::pin(async {
///             let (ours, theirs) = tokio::io::duplex(64 * 1024);
///             serve(theirs).map_err(|_| Failure::not_sent(Cause::ConnectRefused))?;
///             Ok(Connection::new(ours, Unseen))
///         })
///     }
/// }
///
/// /// A stream that cannot be looked at is taken for quiet.
/// struct Unseen;
///
/// impl Peek for Unseen {
///     fn is_quiet(&self) -> bool {
///         true
///     }
/// }
/// # fn serve(_: tokio::io::DuplexStream) -> std::io::Result<()> { Ok(()) }
/// ```
pub trait Dial: Send + Sync + 'static {
    /// Makes one connection.
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>>;
}

/// A byte stream to the server.
pub struct Connection {
    pub(crate) io: Box<dyn ByteStream>,
    pub(crate) peek: Arc<dyn Peek>,
    pub(crate) speaks: Speaks,
    /// Counts below TLS, where TLS is used: it may hold back what it was given.
    pub(crate) below: Option<Arc<Meter>>,
    /// Whether the server refused the client's certificate.
    pub(crate) refusal: CertificateRefusal,
    /// How the connection was made.
    pub(crate) steps: Steps,
}

impl Connection {
    /// Creates a connection over `io`, which `peek` can look at.
    pub fn new(io: impl ByteStream, peek: impl Peek) -> Self {
        Self {
            io: Box::new(io),
            peek: Arc::new(peek),
            speaks: Speaks::Http1,
            below: None,
            refusal: CertificateRefusal::default(),
            steps: Steps::default(),
        }
    }

    /// Declares that both sides use HTTP/2 from the first byte, as agreed beforehand. The default is
    /// HTTP/1.1; for an `https` endpoint TLS decides it, whatever is declared here.
    #[cfg(feature = "http2")]
    #[must_use]
    pub const fn http2(mut self) -> Self {
        self.speaks = Speaks::Http2;
        self
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("speaks", &self.speaks).finish_non_exhaustive()
    }
}

/// A byte stream that carries HTTP.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> ByteStream for T {}

/// Looks at an idle connection without touching it.
///
/// A runtime learns of a close only when it polls its sockets; a request that is written before that would be
/// in doubt. Looking at the socket itself just before it is reused closes that gap.
pub trait Peek: Send + Sync + 'static {
    /// Whether nothing waits to be read: no byte, no end, no error.
    fn is_quiet(&self) -> bool;
}

/// The steps that made a connection. A step that a dial does not know is `None`.
///
/// Through a proxy, name and socket are the proxy's, and TLS is the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steps {
    /// How long it took to find the addresses of the host.
    pub resolved: Option<Duration>,
    /// How long it took until one of them was connected.
    pub connected: Option<Duration>,
    /// How long the TLS handshake took.
    pub secured: Option<Duration>,
    /// The address that was connected.
    pub peer: Option<SocketAddr>,
    /// The version of TLS, as people write it.
    pub tls: Option<&'static str>,
}

/// The HTTP version that was agreed on for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
}
