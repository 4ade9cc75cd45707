//! The body of an answer: all at once, as a stream, or endless.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::Tally;

/// A body, and how it ends.
pub(super) struct Says {
    bytes: Option<Bytes>,
    end: End,
}

enum End {
    /// In the write of the bytes, and its length is announced.
    AtOnce,
    /// In the write of the bytes, and its length is not announced.
    Unannounced,
    /// In a write of its own, once the bytes are out.
    Apart { has_paused: bool },
    /// Never: the same bytes come again and again, as fast as they are read.
    Flood,
    /// Never.
    Never(#[allow(dead_code, reason = "it counts as long as it lives")] Standing),
}

/// A standing stream, counted while it is open.
struct Standing(Arc<Tally>);

impl Says {
    pub(super) const fn nothing() -> Self {
        Self { bytes: None, end: End::AtOnce }
    }

    pub(super) const fn whole(bytes: Bytes) -> Self {
        Self { bytes: Some(bytes), end: End::AtOnce }
    }

    pub(super) const fn event(bytes: Bytes) -> Self {
        Self { bytes: Some(bytes), end: End::Unannounced }
    }

    pub(super) const fn event_apart(bytes: Bytes) -> Self {
        Self { bytes: Some(bytes), end: End::Apart { has_paused: false } }
    }

    /// Returns a body of log messages without end.
    pub(super) fn flood() -> Self {
        Self { bytes: None, end: End::Flood }
    }

    /// Returns a body of one comment, so that the head goes out, and then silence.
    pub(super) fn standing(tally: Arc<Tally>) -> Self {
        tally.standing.fetch_add(1, Ordering::Relaxed);
        let bytes = Bytes::from_static(b": here\n\n");
        Self { bytes: Some(bytes), end: End::Never(Standing(tally)) }
    }
}

impl Body for Says {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(bytes) = self.bytes.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match &mut self.end {
            End::AtOnce | End::Unannounced | End::Apart { has_paused: true } => Poll::Ready(None),
            End::Apart { has_paused } => {
                // Buffered bytes are written before this is polled again.
                *has_paused = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            End::Flood => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(NOISE))))),
            End::Never(_) => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.end {
            End::AtOnce => SizeHint::with_exact(self.bytes.as_ref().map_or(0, Bytes::len) as u64),
            End::Apart { .. } | End::Flood | End::Never(_) | End::Unannounced => {
                SizeHint::default()
            }
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.0.standing.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A log message.
const NOISE: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"0123456789012345678901234567890123456789\"}}\n\n";
