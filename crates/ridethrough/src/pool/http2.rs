//! One HTTP/2 connection: shared by as many requests as the server allows at once.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use ridethrough_core::{Cause, Failure};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::upload::{Handover, Upload};
use crate::dial::{Connection, Refusal};

/// A connection that was dialed and has not failed.
pub(crate) struct Http2 {
    sender: http2::SendRequest<Upload>,
    driving: Arc<Driving>,
}

/// One stream of a connection, for one request; free again when this is dropped.
pub(crate) struct Http2Stream {
    sender: http2::SendRequest<Upload>,
    driving: Arc<Driving>,
    handover: Option<Handover>,
}

/// The task that reads and writes; it ends with the last who uses the connection.
struct Driving {
    task: AbortHandle,
    /// The streams that the server allows at once.
    limit: Arc<AtomicUsize>,
    taken: AtomicUsize,
    refusal: Refusal,
    /// When a stream was last taken or freed.
    used: Mutex<Instant>,
}

impl Http2 {
    pub(super) async fn new(connection: Connection) -> Result<Self, Failure> {
        let refusal = connection.refusal;
        let (sender, driving) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PONG_WITHIN)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEAD_LIMIT)
            .handshake(TokioIo::new(connection.io))
            .await
            .map_err(|error| Failure::not_sent(Cause::Reset).with_detail(error.to_string()))?;
        let limit = Arc::new(AtomicUsize::new(usize::MAX));
        let published = limit.clone();
        let task = tokio::spawn(async move {
            let mut driving = pin!(driving);
            // Whoever sent a request learns of a failure from that request.
            let _ = std::future::poll_fn(|context| {
                let result = driving.as_mut().poll(context);
                published.store(driving.current_max_send_streams(), Ordering::Relaxed);
                result
            })
            .await;
        });
        let taken = AtomicUsize::new(0);
        let used = Mutex::new(Instant::now());
        let task = task.abort_handle();
        let driving = Arc::new(Driving { task, limit, taken, refusal, used });
        Ok(Self { sender, driving })
    }

    /// Whether the next request may go out on it. One that rested for too long may be dead without
    /// knowing it, and no PING is sent while nobody waits.
    pub(super) fn is_usable(&self) -> bool {
        let has_rested = self.driving.taken.load(Ordering::Relaxed) == 0
            && self.driving.last_use().elapsed() >= super::IDLE_LIMIT;
        !self.sender.is_closed() && !has_rested
    }

    pub(super) fn carries(&self, stream: &Http2Stream) -> bool {
        Arc::ptr_eq(&self.driving, &stream.driving)
    }

    /// Takes a stream, if the server allows one more. One beyond its limit would wait inside h2,
    /// out of our sight, for a stream that may never end.
    pub(super) fn stream(&self) -> Option<Http2Stream> {
        let limit = self.driving.limit.load(Ordering::Relaxed).max(1);
        let take = |taken| (taken < limit).then_some(taken + 1);
        self.driving.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        *self.driving.last_use() = Instant::now();
        let (sender, driving) = (self.sender.clone(), self.driving.clone());
        Some(Http2Stream { sender, driving, handover: None })
    }
}

impl Http2Stream {
    /// How many calls a connection carries at once: one stream is the standing one's, and one is
    /// kept for control messages, which must pass when all others are taken.
    pub(crate) fn capacity(&self) -> usize {
        self.driving.limit.load(Ordering::Relaxed).saturating_sub(2).max(1)
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Upload>>> {
        let (head, body) = request.into_parts();
        let (upload, handover) = Upload::new(body);
        self.handover = Some(handover);
        self.sender.try_send_request(Request::from_parts(head, upload)).await
    }

    pub(crate) fn refusal(&self) -> &Refusal {
        &self.driving.refusal
    }

    /// Whether the request has not gone out whole: if it is answered all the same, its stream stays
    /// taken inside h2.
    pub(crate) fn is_stuck(&self) -> bool {
        self.handover.as_ref().is_some_and(|handover| !handover.is_done())
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        self.driving.taken.fetch_sub(1, Ordering::Relaxed);
        *self.driving.last_use() = Instant::now();
    }
}

impl Driving {
    fn last_use(&self) -> MutexGuard<'_, Instant> {
        // Nothing that holds the lock can panic half way.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// When a connection with open streams is silent for so long, ask whether the peer is there.
const PING_AFTER: Duration = Duration::from_secs(15);
const PONG_WITHIN: Duration = Duration::from_secs(10);
/// What the server may send ahead of us reading, per stream and in all. The second is large enough
/// for many streams that nobody reads for a moment: they must not starve the others.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;
const HEAD_LIMIT: u32 = 32 * 1024;
