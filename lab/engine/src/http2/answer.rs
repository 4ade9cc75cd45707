//! An answer on one HTTP/2 stream: before its head, and after.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::connection::{Connection, Order, UnderWay};

/// A stream whose request has been read. Dropping it cancels the stream.
pub(crate) struct Unanswered {
    respond: SendResponse<Bytes>,
    under_way: UnderWay,
    connection: Arc<Connection>,
}

impl Unanswered {
    pub(super) fn new(
        respond: SendResponse<Bytes>,
        under_way: UnderWay,
        connection: Arc<Connection>,
    ) -> Self {
        Self { respond, under_way, connection }
    }

    pub(crate) async fn respond(mut self, response: Response<Bytes>) {
        let (mut parts, body) = response.into_parts();
        let has_own_length = parts.headers.contains_key(CONTENT_LENGTH);
        if !has_own_length && parts.status != StatusCode::NO_CONTENT {
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let head = Response::from_parts(parts, ());
        if body.is_empty() {
            drop(self.under_way);
            // It fails if the client cancelled its request, and then no answer is wanted.
            let _ = self.respond.send_response(sanitized(head), true);
            return;
        }
        self.open(head).finish(body).await;
    }

    pub(crate) fn open(mut self, head: Response<()>) -> Http2Body {
        // A client that cancelled its request is noticed by the first `send`.
        let stream = self.respond.send_response(sanitized(head), false).ok();
        Http2Body { stream, under_way: Some(self.under_way), connection: self.connection }
    }

    pub(crate) fn reset(self, reason: Reason) {
        self.connection.order(Order::ResetStream(Handle::Unanswered(self.respond), reason));
    }

    pub(crate) async fn gone(&mut self) {
        // An error says that the whole connection is gone.
        let _ = poll_fn(|context| self.respond.poll_reset(context)).await;
    }

    pub(crate) fn drop_connection(self) {
        self.connection.reset(Some(Handle::Unanswered(self.respond)));
    }
}

/// A stream whose head has been sent. Dropping it before its end cancels the stream.
pub(crate) struct Http2Body {
    /// `None` if the client was gone before the head could be sent.
    stream: Option<SendStream<Bytes>>,
    under_way: Option<UnderWay>,
    connection: Arc<Connection>,
}

impl Http2Body {
    pub(crate) async fn send(&mut self, bytes: Bytes) -> bool {
        bytes.is_empty() || self.send_all(bytes, false).await
    }

    pub(crate) async fn finish(mut self, bytes: Bytes) {
        self.under_way = None;
        // If the client is gone, no one reads it.
        self.send_all(bytes, true).await;
    }

    pub(crate) fn reset(mut self, reason: Reason) {
        if let Some(stream) = self.stream.take() {
            self.connection.order(Order::ResetStream(Handle::Body(stream), reason));
        }
    }

    pub(crate) async fn gone(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        // An error says that the whole connection is gone.
        let _ = poll_fn(|context| stream.poll_reset(context)).await;
    }

    pub(crate) fn drop_connection(self) {
        self.connection.reset(self.stream.map(Handle::Body));
    }

    async fn send_all(&mut self, mut bytes: Bytes, is_end: bool) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        loop {
            let room = room_for(stream, bytes.len()).await;
            let Some(room) = room else { return false };
            let piece = bytes.split_to(room.min(bytes.len()));
            let is_last = bytes.is_empty();
            if stream.send_data(piece, is_end && is_last).is_err() {
                return false;
            }
            if is_last {
                return true;
            }
        }
    }
}

/// Waits until the client's window has room for some of `wanted` bytes. `None` if the stream ended.
async fn room_for(stream: &mut SendStream<Bytes>, wanted: usize) -> Option<usize> {
    if wanted == 0 {
        return Some(0);
    }
    stream.reserve_capacity(wanted);
    loop {
        match stream.capacity() {
            0 => poll_fn(|context| stream.poll_capacity(context)).await?.ok()?,
            room => return Some(room),
        };
    }
}

/// Removes headers that only HTTP/1.1 has, so that one handler can serve both.
fn sanitized(mut head: Response<()>) -> Response<()> {
    let headers: &mut HeaderMap = head.headers_mut();
    for name in [CONNECTION, TRANSFER_ENCODING, HeaderName::from_static("keep-alive")] {
        headers.remove(name);
    }
    head
}

/// The handle of a stream that must be reset.
pub(crate) enum Handle {
    Body(SendStream<Bytes>),
    Unanswered(SendResponse<Bytes>),
}

impl Handle {
    pub(super) fn reset(self, reason: Reason) {
        match self {
            Self::Body(mut stream) => stream.send_reset(reason),
            Self::Unanswered(mut respond) => respond.send_reset(reason),
        }
    }
}
