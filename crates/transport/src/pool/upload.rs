//! The body of a request on HTTP/2, handed over piece by piece.
//!
//! A server may answer before it has read the request, and never read the rest. The stream then stays taken
//! inside h2, out of reach; whether the whole body was handed over shows it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// A body on its way out.
pub(crate) struct Upload {
    left: Bytes,
    is_done: Arc<AtomicBool>,
}

/// Tells whether a body was handed over whole.
pub(crate) struct Handover(Arc<AtomicBool>);

impl Upload {
    pub(super) fn new(body: Bytes) -> (Self, Handover) {
        let is_done = Arc::new(AtomicBool::new(body.is_empty()));
        (Self { left: body, is_done: is_done.clone() }, Handover(is_done))
    }
}

impl Handover {
    pub(super) fn is_done(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let size = self.left.len().min(PIECE);
        let piece = self.left.split_to(size);
        self.is_done.store(self.left.is_empty(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

/// The size of a piece: one HTTP/2 frame that every peer accepts.
const PIECE: usize = 16 * 1024;
