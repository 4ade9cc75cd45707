//! The traits between the driver and the network.
//!
//! A transport makes one HTTP request, or one connection, and reports what came of it. It decides nothing: it
//! never retries, never waits for a server to come back, and claims that nothing was sent only where it can
//! prove it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ridethrough_core::{AnswerHead, AttemptId, Cause, Failure, Outgoing};

use crate::credentials::Token;

/// Carries out requests for a client.
///
/// # Example
///
/// See `examples/own_transport.rs` for a complete transport that answers without a network.
pub trait Transport: Send + Sync + 'static {
    /// Performs one request, and never repeats it.
    ///
    /// The future, or the body of its reply, is dropped when the answer is no longer wanted: close what it
    /// holds. The driver limits its time.
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>>;

    /// Whether each request goes out as HTTP, to the path that it names, and its body arrives in pieces.
    ///
    /// The client then also speaks HTTP+SSE of 2024-11-05 over this transport, to a server that refuses
    /// Streamable HTTP: a GET opens a stream, and each POST goes to the path that the server names on it. The
    /// default is `false`, because a transport that answers by itself gains nothing from a second attempt.
    fn speaks_http(&self) -> bool {
        false
    }
}

/// One request to a transport.
#[derive(Debug)]
pub enum TransportRequest {
    /// Make one connection for the next request to use. A transport without connections replies at once.
    Connect,
    /// Make one HTTP request.
    Request {
        /// The request to send.
        outgoing: Outgoing,
        /// The token to send with it.
        token: Option<Token>,
        /// Whether it is still to be sent, once there is a connection for it.
        recall: Recall,
    },
}

/// Says whether a request is still to be sent, right before its first byte is.
///
/// A request may wait for a connection while another finds the server in trouble. A transport that asks then spares
/// a call from ending in doubt; one that does not ask sends it.
#[derive(Clone, Debug, Default)]
pub struct Recall(Option<(Arc<RecalledAttempts>, AttemptId)>);

impl Recall {
    /// Asks these whether the attempt is among them.
    pub const fn of(attempt: AttemptId, recalled: Arc<RecalledAttempts>) -> Self {
        Self(Some((recalled, attempt)))
    }

    /// Returns the failure to report if the request was taken back, and is not to be sent.
    pub fn withheld(&self) -> Option<Failure> {
        let (recalled, attempt) = self.0.as_ref()?;
        recalled.contains(*attempt).then(|| Failure::not_sent(Cause::Withheld))
    }
}

/// The attempts that were taken back, and are still out.
#[derive(Debug, Default)]
pub struct RecalledAttempts {
    /// Whether there are any, so that nothing is locked on a healthy link.
    has_any: AtomicBool,
    attempts: Mutex<BTreeSet<AttemptId>>,
}

impl RecalledAttempts {
    /// Takes an attempt back.
    pub fn insert(&self, attempt: AttemptId) {
        self.lock().insert(attempt);
        self.has_any.store(true, Ordering::Relaxed);
    }

    /// Forgets an attempt that is over.
    pub fn remove(&self, attempt: AttemptId) {
        if self.has_any.load(Ordering::Relaxed) {
            let mut attempts = self.lock();
            attempts.remove(&attempt);
            self.has_any.store(!attempts.is_empty(), Ordering::Relaxed);
        }
    }

    fn contains(&self, attempt: AttemptId) -> bool {
        self.has_any.load(Ordering::Relaxed) && self.lock().contains(&attempt)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<AttemptId>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome of a request.
pub enum Reply {
    /// The server answered.
    Answered {
        /// The head of the answer.
        head: AnswerHead,
        /// The body, not read yet.
        body: Box<dyn Body>,
        /// How many calls may be out at once, if the server or the transport limits that.
        capacity: Option<usize>,
    },
    /// The connection was made.
    Connected,
}

impl Reply {
    /// Returns an answer whose whole body is known.
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
    /// Polls for the next piece of the body; `None` at its regular end.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>>;

    /// Says that the answer is complete, and that the rest is read only so that the connection can be used
    /// again.
    fn wind_down(&mut self) {}
}

impl dyn Body {
    /// Returns the next piece of the body; `None` at its regular end.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Failure>> {
        std::future::poll_fn(|context| self.poll_chunk(context)).await
    }
}

struct Whole(Option<Bytes>);

impl Body for Whole {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        Poll::Ready(self.0.take().map(Ok))
    }
}
