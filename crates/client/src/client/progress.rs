//! The progress of one call, as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;

use crate::driver::ProgressReader;
use crate::model::{self, Progress};

/// The progress of a call until it ends: a stream, created by
/// [`Call::with_progress`](crate::Call::with_progress).
///
/// Of progress that was not read yet, only the last 64 are kept.
pub struct ProgressStream(ProgressReader);

impl ProgressStream {
    pub(super) const fn new(steps: ProgressReader) -> Self {
        Self(steps)
    }

    /// Returns the next progress; `None` when the call has ended, or was dropped before it began.
    pub async fn next(&mut self) -> Option<Progress> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<Progress>> {
        loop {
            let Some(step) = std::task::ready!(self.0.poll_next(context)) else {
                return Poll::Ready(None);
            };
            if let Ok(step) = model::read(step) {
                return Poll::Ready(Some(step));
            }
        }
    }
}

impl Stream for ProgressStream {
    type Item = Progress;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Progress>> {
        self.poll(context)
    }
}

impl fmt::Debug for ProgressStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressStream").finish_non_exhaustive()
    }
}
