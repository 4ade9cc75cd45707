//! One HTTP/2 connection: shared by as many requests as the server allows at once.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use ridethrough_core::{Cause, ConnectionId, Failure};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::upload::{Handover, Upload};
use crate::dial::{CertificateRefusal, Connection};

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

/// The task that reads and writes; it ends with the last user of the connection.
struct Driving {
    id: ConnectionId,
    task: AbortHandle,
    /// How many streams the server allows at once.
    limit: Arc<AtomicUsize>,
    refusal: CertificateRefusal,
    streams: Mutex<StreamSlots>,
}

/// The streams of a connection, and the requests that wait for one.
struct StreamSlots {
    taken: usize,
    /// When a stream was last taken or freed.
    used: Instant,
    /// The requests that want a stream of this connection and no other.
    waiting: VecDeque<oneshot::Sender<Http2Stream>>,
}

impl Http2 {
    pub(super) async fn new(connection: Connection, id: ConnectionId) -> Result<Self, Failure> {
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
            // Each request learns of a failure by itself.
            let _ = std::future::poll_fn(|context| {
                let result = driving.as_mut().poll(context);
                published.store(driving.current_max_send_streams(), Ordering::Relaxed);
                result
            })
            .await;
        });
        let streams = StreamSlots { taken: 0, used: Instant::now(), waiting: VecDeque::new() };
        let (task, streams) = (task.abort_handle(), Mutex::new(streams));
        let driving = Arc::new(Driving { id, task, limit, refusal, streams });
        Ok(Self { sender, driving })
    }

    pub(super) fn id(&self) -> ConnectionId {
        self.driving.id
    }

    /// Whether the next request may go out on it. A connection that was idle for too long may be dead without
    /// a sign, and no PING is sent while no stream is open.
    pub(super) fn is_usable(&self) -> bool {
        let has_rested = {
            let streams = self.driving.streams();
            streams.taken == 0 && streams.used.elapsed() >= super::IDLE_LIMIT
        };
        !self.sender.is_closed() && !has_rested
    }

    pub(super) fn carries(&self, stream: &Http2Stream) -> bool {
        Arc::ptr_eq(&self.driving, &stream.driving)
    }

    /// Takes a stream, if the server allows one more. Beyond its limit a request would wait inside h2, out of
    /// reach, for a stream that may never end.
    pub(super) fn stream(&self) -> Option<Http2Stream> {
        self.take(&mut self.driving.streams())
    }

    /// Takes a stream, or waits for one; the receiver fails when the pool drops the connection.
    pub(super) fn stream_or_wait(&self) -> Result<Http2Stream, oneshot::Receiver<Http2Stream>> {
        let mut streams = self.driving.streams();
        self.take(&mut streams).ok_or_else(|| {
            let (sender, receiver) = oneshot::channel();
            streams.waiting.push_back(sender);
            receiver
        })
    }

    fn take(&self, streams: &mut StreamSlots) -> Option<Http2Stream> {
        let limit = self.driving.limit.load(Ordering::Relaxed).clamp(1, MOST_STREAMS);
        if streams.taken >= limit {
            return None;
        }
        streams.taken += 1;
        streams.used = Instant::now();
        let (sender, driving) = (self.sender.clone(), self.driving.clone());
        Some(Http2Stream { sender, driving, handover: None })
    }
}

impl Drop for Http2 {
    /// Tells the requests that wait for this connection that it is gone.
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.driving.streams().waiting);
        drop(waiting);
    }
}

impl Http2Stream {
    pub(crate) fn connection(&self) -> ConnectionId {
        self.driving.id
    }

    /// Whether a request can still be sent on it.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Returns how many calls a connection carries at once: one stream is left for the standing stream, and
    /// one for control messages, which must pass when all others are taken.
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

    pub(crate) fn refusal(&self) -> &CertificateRefusal {
        &self.driving.refusal
    }

    /// Whether the request has not gone out whole. If it is answered anyway, its stream stays taken inside
    /// h2.
    pub(crate) fn is_stuck(&self) -> bool {
        self.handover.as_ref().is_some_and(|handover| !handover.is_done())
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        let waiter = {
            let mut streams = self.driving.streams();
            streams.used = Instant::now();
            let waiter = streams.waiting.pop_front();
            streams.taken -= usize::from(waiter.is_none());
            waiter
        };
        if let Some(waiter) = waiter {
            let (sender, driving) = (self.sender.clone(), self.driving.clone());
            // If that request is gone, the stream is dropped in turn and goes to the next one.
            drop(waiter.send(Self { sender, driving, handover: None }));
        }
    }
}

impl Driving {
    fn streams(&self) -> MutexGuard<'_, StreamSlots> {
        // No code panics while it holds the lock.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How long a connection with open streams may be silent before a PING asks whether the peer is there.
const PING_AFTER: Duration = Duration::from_secs(15);
const PONG_WITHIN: Duration = Duration::from_secs(10);
/// How much the server may send ahead of the reader, per stream and in all. The second is large enough for
/// many streams that are not read for a moment, so that they do not starve the others.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;
/// The most streams at once: if all are unread, a few more can still be read, because what they hold is less
/// than the connection's window.
const MOST_STREAMS: usize = (CONNECTION_WINDOW / STREAM_WINDOW) as usize - 16;
const HEAD_LIMIT: u32 = 32 * 1024;
