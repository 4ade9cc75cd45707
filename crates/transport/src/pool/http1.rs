//! One HTTP/1.1 connection: one request at a time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use ridethrough_core::{Cause, ConnectionId, Failure, Lane};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::places::ConnectionPermit;
use super::reuse::Rest;
use crate::dial::{CertificateRefusal, Connection, Meter, Metered, Peek};

/// A connection that was dialed and has not failed.
pub(crate) struct Http1 {
    sender: http1::SendRequest<Full<Bytes>>,
    meter: Arc<Meter>,
    below: Option<Arc<Meter>>,
    peek: Arc<dyn Peek>,
    refusal: CertificateRefusal,
    task: AbortHandle,
    id: ConnectionId,
    /// Dropped with it, by which requests that wait for this connection learn that it is gone.
    _entry: Box<dyn Send + Sync>,
    made: Instant,
    /// When it was dialed, or its last answer was read.
    since: Instant,
    rests: Duration,
    history: History,
    /// Whether the current request found it idle.
    is_reused: bool,
    /// The lane of the last request.
    lane: Lane,
    /// The permit that it holds while a request uses it.
    place: Option<ConnectionPermit>,
}

/// What a connection was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    /// Nothing yet.
    Fresh,
    /// A request is on it, or was, and its answer has not been read to the end.
    InUse,
    /// Every answer was read to its end.
    Rested,
}

impl Http1 {
    pub(super) async fn new(
        connection: Connection,
        id: ConnectionId,
        entry: impl Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let (io, meter) = Metered::new(connection.io);
        let (sender, driving) = http1::Builder::new()
            .max_buf_size(HEAD_LIMIT)
            .handshake(TokioIo::new(io))
            .await
            .map_err(|error| Failure::not_sent(Cause::Reset).with_detail(error.to_string()))?;
        let task = tokio::spawn(async {
            // Each request learns of a failure by itself.
            let _ = driving.await;
        });
        Ok(Self {
            sender,
            meter,
            below: connection.below,
            peek: connection.peek,
            refusal: connection.refusal,
            task: task.abort_handle(),
            id,
            _entry: Box::new(entry),
            made: Instant::now(),
            since: Instant::now(),
            rests: super::IDLE_LIMIT,
            history: History::Fresh,
            is_reused: false,
            lane: Lane::Control,
            place: None,
        })
    }

    pub(crate) const fn id(&self) -> ConnectionId {
        self.id
    }

    /// Whether the next request may go out on it.
    pub(super) fn is_usable(&self) -> bool {
        self.since.elapsed() < self.rests && !self.is_behind() && self.is_alive()
    }

    fn is_alive(&self) -> bool {
        // A server may send first on a fresh TLS connection: session tickets are no bad sign.
        let is_fresh = self.history == History::Fresh && self.since.elapsed() < FRESH_FOR;
        !self.sender.is_closed() && (is_fresh || self.peek.is_quiet())
    }

    /// Returns how long it was idle until it died, if it died while it could still have been used.
    pub(super) fn died_at_rest(&self) -> Option<Rest> {
        let rested = self.rest()?;
        let is_dead = rested < self.rests && !self.is_alive();
        is_dead.then_some(Rest { made: self.made, rested })
    }

    /// Returns how long it has been idle since its last answer.
    pub(super) fn rest(&self) -> Option<Duration> {
        (self.history == History::Rested).then(|| self.since.elapsed())
    }

    /// Returns when it was made, if the current request is not its first.
    pub(super) fn reused(&self) -> Option<Instant> {
        self.is_reused.then_some(self.made)
    }

    /// Whether a server that answered early has left part of the request unread: hyper still holds it, and
    /// the next request would wait behind it.
    pub(crate) fn is_behind(&self) -> bool {
        self.meter.is_behind()
    }

    /// Waits until hyper is done with the last request; false if the connection closed instead.
    pub(super) async fn is_ready_soon(&mut self) -> bool {
        timeout(READY_WITHIN, self.sender.ready()).await.is_ok_and(|ready| ready.is_ok())
    }

    pub(super) fn in_use(mut self, place: Option<ConnectionPermit>, lane: Lane) -> Self {
        // A call right behind a question of the link finds out nothing about rests: a server that closes behind
        // the answers to calls has had no reason to.
        let before = std::mem::replace(&mut self.lane, lane);
        let has_rested = before == Lane::Call || self.since.elapsed() >= REST;
        self.is_reused = self.history == History::Rested && has_rested;
        self.history = History::InUse;
        self.place = place;
        self
    }

    /// Makes the connection idle, and returns it with the permit that it no longer needs.
    pub(super) fn rested(mut self) -> (Self, Option<ConnectionPermit>) {
        self.history = History::Rested;
        self.since = Instant::now();
        let place = self.place.take();
        (self, place)
    }

    /// Returns the handle that closes it while its answer is still being read.
    pub(crate) fn closer(&self) -> AbortHandle {
        self.task.clone()
    }

    /// Limits its idle time to less than the server's, as `Keep-Alive` names it.
    pub(crate) fn rest_at_most(&mut self, server_keeps: Duration) {
        self.rests = super::IDLE_LIMIT.min(server_keeps.saturating_sub(Duration::from_secs(1)));
    }

    /// Sends a request. After a failure nothing more is written, and it is known how much was.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let before = self.written();
        match self.sender.try_send_request(request).await {
            Ok(response) => Ok(response),
            // Seal first, then count: hyper may still flush what it holds.
            Err(error) => {
                let written = self.seal() - before;
                Err(Unanswered { error, written, refusal: self.refusal.clone() })
            }
        }
    }
}

impl Http1 {
    /// Returns the bytes written above TLS and below it: a proof that nothing was sent needs both unchanged.
    fn written(&self) -> u64 {
        self.meter.written() + self.below.as_ref().map_or(0, |below| below.written())
    }

    fn seal(&self) -> u64 {
        self.meter.seal() + self.below.as_ref().map_or(0, |below| below.seal())
    }
}

/// A request without an answer, and how much of it was written.
pub(crate) struct Unanswered {
    pub(crate) error: TrySendError<Request<Full<Bytes>>>,
    pub(crate) written: u64,
    pub(crate) refusal: CertificateRefusal,
}

impl Drop for Http1 {
    /// Closes the connection at once: an idle one has nothing to lose, and hyper's task may be stuck in a
    /// write.
    fn drop(&mut self) {
        self.seal();
        self.task.abort();
    }
}

/// The largest head of an answer that is read. With hyper's limit of 100 headers it bounds what a hostile
/// server can make the client hold before a body begins.
const HEAD_LIMIT: usize = 32 * 1024;
/// How long hyper may take to be ready again after an answer was read.
const READY_WITHIN: Duration = Duration::from_secs(1);
/// How long a connection counts as fresh. One that was dialed for a request is used within this time; any
/// other is checked.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// How long a connection has been idle at least that rested behind a question of the link.
const REST: Duration = Duration::from_millis(100);
