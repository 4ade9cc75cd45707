//! What performs: the one method between the driver and the network.
//!
//! A transport makes one HTTP request, or one connection, and says what came of it. It decides
//! nothing: it never retries, never waits for a server to come back, and claims that nothing was
//! sent only where it can prove it.

use std::fmt;
use std::task::{Context, Poll};

use crate::credentials::Token;

pub use crate::dial::{ByteStream, Connection, Dial, Peek, Steps, Tcp};
pub use crate::endpoint::{Endpoint, EndpointError};
pub use ridethrough_core::head::AnswerHead;
pub use ridethrough_core::{Carrier, Cause, Failure, Headers, Lane, Outgoing, Verb};

// What the traits here are written in, so that implementing one needs no crate beside this one.
pub use bytes::Bytes;
pub use futures_util::future::BoxFuture;
pub use http::{HeaderValue, StatusCode};

/// Carries out requests for a client.
///
/// # Example
///
/// See `examples/own_transport.rs` for a whole one that answers without a network.
pub trait Transport: Send + Sync + 'static {
    /// Does what it is told, once.
    ///
    /// Dropping the future, or the body of its reply, means that nobody wants the answer any more:
    /// close what it holds. The driver bounds it in time.
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>>;
}

/// Something for a transport to do.
#[derive(Debug)]
pub enum TransportRequest {
    /// Make one connection for the next request to use. A transport without connections replies
    /// at once.
    Connect,
    /// Make one HTTP request.
    Request {
        /// What to ask.
        outgoing: Outgoing,
        /// What to be known by.
        token: Option<Token>,
    },
}

/// What came of a request.
pub enum Reply {
    /// The server answered: the head, and the body to be read.
    Answered {
        /// The head.
        head: AnswerHead,
        /// The body, not read yet.
        body: Box<dyn Body>,
        /// How many calls may be out at once, if the server or the transport limits that.
        capacity: Option<usize>,
    },
    /// A connection stands.
    Connected,
}

impl Reply {
    /// An answer whose body is there as a whole.
    pub fn whole(head: AnswerHead, body: impl Into<Bytes>) -> Self {
        let body = Some(body.into()).filter(|bytes: &Bytes| !bytes.is_empty());
        Self::Answered { head, body: Box::new(Whole(body)), capacity: None }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { head, .. } => write!(f, "Answered({head:?})"),
            Self::Connected => f.write_str("Connected"),
        }
    }
}

/// The body of an answer, as it arrives.
pub trait Body: Send {
    /// The next piece, `None` at the proper end.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>>;

    /// All that matters was read: what follows is read for the connection's sake only.
    fn wind_down(&mut self) {}
}

impl dyn Body {
    /// The next piece, `None` at the proper end.
    pub(crate) async fn chunk(&mut self) -> Option<Result<Bytes, Failure>> {
        std::future::poll_fn(|context| self.poll_chunk(context)).await
    }
}

struct Whole(Option<Bytes>);

impl Body for Whole {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        Poll::Ready(self.0.take().map(Ok))
    }
}
