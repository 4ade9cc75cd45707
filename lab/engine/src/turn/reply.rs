//! The first step of an answer: whole, streamed, raw, or not at all.

use std::fmt;

use bytes::Bytes;
use h2::Reason;
use http::Response;

use super::{Raw, Stream};
use crate::http1::{Framing, Pen, write_head};
use crate::http2::Unanswered;

/// The means to answer one request. Dropping it unanswered is [`close`](Self::close).
pub struct Reply(ReplyCarrier);

enum ReplyCarrier {
    Http1(Pen),
    Http2(Unanswered),
}

impl Reply {
    pub(crate) fn http1(pen: Pen) -> Self {
        Self(ReplyCarrier::Http1(pen))
    }

    pub(crate) fn http2(unanswered: Unanswered) -> Self {
        Self(ReplyCarrier::Http2(unanswered))
    }

    /// Answers with a whole response, in one write on HTTP/1.1; the connection stays open.
    ///
    /// A `content-length` is added unless the response brings its own, which may lie. A response
    /// with `connection: close` closes an HTTP/1.1 connection.
    pub async fn respond(self, response: Response<Bytes>) {
        match self.0 {
            ReplyCarrier::Http1(mut pen) => {
                let (parts, body) = response.into_parts();
                pen.heed(&parts.headers);
                let (mut bytes, _) = write_head(&parts, Framing::Length(body.len()));
                bytes.extend_from_slice(&body);
                pen.finish(&bytes).await;
            }
            ReplyCarrier::Http2(unanswered) => unanswered.respond(response).await,
        }
    }

    /// Sends the head of a response whose body follows in pieces.
    ///
    /// On HTTP/1.1 the body is chunked, unless the response has a `content-length` of its own: then its bytes
    /// are sent unframed, and the caller must send as many as it says.
    pub async fn open(self, response: Response<()>) -> Stream {
        match self.0 {
            ReplyCarrier::Http1(mut pen) => {
                let (parts, ()) = response.into_parts();
                pen.heed(&parts.headers);
                let (head, framing) = write_head(&parts, Framing::Chunked);
                // A client that is gone is noticed by the first `send`.
                pen.write(&head).await;
                Stream::http1(pen, framing)
            }
            ReplyCarrier::Http2(unanswered) => Stream::http2(unanswered.open(response)),
        }
    }

    /// Takes the HTTP/1.1 connection, to write any bytes to it.
    ///
    /// # Errors
    ///
    /// Returns the reply on HTTP/2, where there are no raw bytes to write.
    pub fn raw(self) -> Result<Raw, Self> {
        match self.0 {
            ReplyCarrier::Http1(pen) => Ok(Raw::new(pen)),
            ReplyCarrier::Http2(_) => Err(self),
        }
    }

    /// HTTP/1.1: resets the connection. HTTP/2: `RST_STREAM(INTERNAL_ERROR)`.
    pub fn reset(self) {
        self.reset_with(Reason::INTERNAL_ERROR);
    }

    /// HTTP/2: `RST_STREAM` with this reason. HTTP/1.1: resets the connection.
    pub fn reset_with(self, reason: Reason) {
        match self.0 {
            ReplyCarrier::Http1(pen) => pen.reset(),
            ReplyCarrier::Http2(unanswered) => unanswered.reset(reason),
        }
    }

    /// HTTP/1.1: closes the connection (FIN) without an answer. HTTP/2: `RST_STREAM(CANCEL)`.
    pub async fn close(self) {
        match self.0 {
            ReplyCarrier::Http1(pen) => pen.close().await,
            // h2 cancels a stream whose handles are all dropped.
            ReplyCarrier::Http2(unanswered) => drop(unanswered),
        }
    }

    /// Never answers. Returns when the client has closed.
    pub async fn hold(mut self) {
        match &mut self.0 {
            ReplyCarrier::Http1(pen) => pen.gone().await,
            ReplyCarrier::Http2(unanswered) => unanswered.gone().await,
        }
    }

    /// Resets the whole connection, on HTTP/2 too.
    pub fn drop_connection(self) {
        match self.0 {
            ReplyCarrier::Http1(pen) => pen.reset(),
            ReplyCarrier::Http2(unanswered) => unanswered.drop_connection(),
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}
