//! An HTTP/1.1 answer in the handler's own bytes: wrong lengths, bad chunks, or not HTTP at all.

use std::fmt;

use bytes::Bytes;

use crate::http1::Pen;

/// An HTTP/1.1 connection on which anything may be written. Dropping it is [`close`](Self::close).
pub struct Raw(Pen);

impl Raw {
    pub(crate) fn new(pen: Pen) -> Self {
        Self(pen)
    }

    /// Writes these bytes as they are, in one write. Returns false when the client has gone.
    pub async fn write(&mut self, bytes: impl Into<Bytes>) -> bool {
        self.0.write(&bytes.into()).await
    }

    /// Leaves the connection open: the next bytes from the client are a new request.
    pub async fn keep(self) {
        self.0.finish(&[]).await;
    }

    /// Closes the connection (FIN) after what was written.
    pub async fn close(self) {
        self.0.close().await;
    }

    /// Resets the connection; bytes that the client has not read yet may be lost.
    pub fn reset(self) {
        self.0.reset();
    }

    /// Waits until the client has closed.
    pub async fn gone(&mut self) {
        self.0.gone().await;
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").finish_non_exhaustive()
    }
}
