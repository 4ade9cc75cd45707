//! An answer whose body is sent in pieces, and the ways to end it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;

use crate::http1::{Framing, Pen};
use crate::http2::Http2Body;

/// The body of an answer under way. Dropping it is [`cut`](Self::cut).
pub struct Stream(StreamCarrier);

enum StreamCarrier {
    Http1(Pen, Framing),
    Http2(Http2Body),
}

impl Stream {
    pub(crate) fn http1(pen: Pen, framing: Framing) -> Self {
        Self(StreamCarrier::Http1(pen, framing))
    }

    pub(crate) fn http2(body: Http2Body) -> Self {
        Self(StreamCarrier::Http2(body))
    }

    /// Sends these bytes, as one chunk in one write on HTTP/1.1. Sends nothing if there are none.
    ///
    /// Returns false when the client has gone.
    pub async fn send(&mut self, bytes: impl Into<Bytes>) -> bool {
        let bytes = bytes.into();
        match &mut self.0 {
            StreamCarrier::Http1(pen, framing) => pen.write(&framing.frame(&bytes)).await,
            StreamCarrier::Http2(body) => body.send(bytes).await,
        }
    }

    /// Ends the body properly; an HTTP/1.1 connection is ready for the next request.
    pub async fn finish(self) {
        self.finish_with(Bytes::new()).await;
    }

    /// Sends the last bytes together with the proper end, in one write on HTTP/1.1.
    pub async fn finish_with(self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        match self.0 {
            StreamCarrier::Http1(pen, framing) => pen.finish(&framing.last_frame(&bytes)).await,
            StreamCarrier::Http2(body) => body.finish(bytes).await,
        }
    }

    /// HTTP/1.1: resets the connection. HTTP/2: `RST_STREAM(INTERNAL_ERROR)`.
    ///
    /// On both, a reset makes clients drop what they have not read yet. To let them read it, sleep a moment
    /// first.
    pub fn reset(self) {
        self.reset_with(Reason::INTERNAL_ERROR);
    }

    /// HTTP/2: `RST_STREAM` with this reason. HTTP/1.1: resets the connection.
    pub fn reset_with(self, reason: Reason) {
        match self.0 {
            StreamCarrier::Http1(pen, _) => pen.reset(),
            StreamCarrier::Http2(body) => body.reset(reason),
        }
    }

    /// HTTP/1.1: closes the connection (FIN) without the body's proper end. HTTP/2: `RST_STREAM(CANCEL)`. The
    /// client reads everything that was sent before.
    ///
    /// For that, HTTP/2 takes a millisecond of tokio's clock, because clients drop the unread data of a
    /// stream that is reset. With paused time it passes only once the client has nothing left to do.
    pub async fn cut(self) {
        match self.0 {
            StreamCarrier::Http1(pen, _) => pen.close().await,
            StreamCarrier::Http2(body) => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                // h2 cancels a stream whose handles are all dropped.
                drop(body);
            }
        }
    }

    /// Waits until the client has closed.
    pub async fn gone(&mut self) {
        match &mut self.0 {
            StreamCarrier::Http1(pen, _) => pen.gone().await,
            StreamCarrier::Http2(body) => body.gone().await,
        }
    }

    /// Resets the whole connection, on HTTP/2 too.
    pub fn drop_connection(self) {
        match self.0 {
            StreamCarrier::Http1(pen, _) => pen.reset(),
            StreamCarrier::Http2(body) => body.drop_connection(),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}
