//! Stands in for HTTP/2 in builds without that feature: there are no such connections.

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use ridethrough_core::{Cause, ConnectionId, Failure};
use tokio::sync::oneshot;

use crate::dial::{CertificateRefusal, Connection};

/// A connection that cannot exist.
pub(crate) enum Http2 {}

/// A stream that cannot exist.
pub(crate) enum Http2Stream {}

impl Http2 {
    /// Refuses a connection of the application's own dial that speaks HTTP/2.
    pub(super) async fn new(_: Connection, _: ConnectionId) -> Result<Self, Failure> {
        Err(Failure::not_sent(Cause::Misconfigured).with_detail(NOT_BUILT))
    }

    pub(super) fn id(&self) -> ConnectionId {
        match *self {}
    }

    pub(super) fn is_usable(&self) -> bool {
        match *self {}
    }

    pub(super) fn carries(&self, _: &Http2Stream) -> bool {
        match *self {}
    }

    pub(super) fn stream(&self) -> Option<Http2Stream> {
        match *self {}
    }

    pub(super) fn stream_or_wait(&self) -> Result<Http2Stream, oneshot::Receiver<Http2Stream>> {
        match *self {}
    }
}

impl Http2Stream {
    pub(crate) fn connection(&self) -> ConnectionId {
        match *self {}
    }

    pub(super) fn is_open(&self) -> bool {
        match *self {}
    }

    pub(crate) fn capacity(&self) -> usize {
        match *self {}
    }

    pub(crate) async fn send(
        &mut self,
        _: Request<Bytes>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Bytes>>> {
        match *self {}
    }

    pub(crate) fn refusal(&self) -> &CertificateRefusal {
        match *self {}
    }

    pub(crate) fn is_stuck(&self) -> bool {
        match *self {}
    }
}

const NOT_BUILT: &str = "HTTP/2 is not in this build: turn on the feature `http2`";
