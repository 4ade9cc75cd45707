//! One direction of a pipe that flows.

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, Waker};

use tokio::io::ReadBuf;

/// The bytes on their way to one side.
#[derive(Debug, Default)]
pub(super) struct Lane {
    unread: VecDeque<u8>,
    /// Whether the writer has sent its FIN.
    is_finished: bool,
    /// Whether the reader is gone.
    is_abandoned: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Lane {
    pub(super) fn is_quiet(&self) -> bool {
        self.unread.is_empty() && !self.is_finished
    }

    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_quiet() {
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        // The unread bytes may wrap around the end of the queue's memory: two slices at most.
        for _ in 0..2 {
            let (next, _) = self.unread.as_slices();
            let taken = next.len().min(buffer.remaining());
            buffer.put_slice(&next[..taken]);
            self.unread.drain(..taken);
        }
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
        capacity: usize,
    ) -> Poll<io::Result<usize>> {
        if self.is_abandoned || self.is_finished {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let taken = bytes.len().min(capacity.saturating_sub(self.unread.len()));
        if taken == 0 && !bytes.is_empty() {
            self.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        self.unread.extend(&bytes[..taken]);
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(taken))
    }

    /// Records the writer's FIN.
    pub(super) fn finish(&mut self) {
        self.is_finished = true;
        self.wake();
    }

    /// Records that the reader is gone.
    pub(super) fn abandon(&mut self) {
        self.is_abandoned = true;
        self.lose();
    }

    /// Drops the bytes under way, and wakes both sides.
    pub(super) fn lose(&mut self) {
        self.unread.clear();
        self.wake();
    }

    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}
