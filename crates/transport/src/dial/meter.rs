//! Counts the bytes written on a connection, and can stop it for good.
//!
//! Whether a server may have a request depends on whether a byte of it was written. hyper flushes buffered
//! bytes even after it reported an error or was cancelled, so a count that is merely read may be out of date;
//! [`Meter::seal`] refuses all further writes and returns the count in one step. It also notes whether the first
//! bytes that came are HTTP, which tells a TLS handshake what answered it.

use std::io;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::ByteStream;

/// The count of one connection, shared with the code that must know it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    state: Mutex<MeterState>,
    /// Whether the peer's first bytes are the beginning of an HTTP/1 response.
    is_answered_by_http: AtomicBool,
}

#[derive(Debug, Default)]
struct MeterState {
    written: u64,
    is_sealed: bool,
    /// Whether the last write did not take all bytes.
    is_behind: bool,
}

impl Meter {
    /// Returns the bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.state().written
    }

    /// Whether a layer above still holds bytes that were not written.
    pub(crate) fn is_behind(&self) -> bool {
        self.state().is_behind
    }

    /// Whether the peer's first bytes are the beginning of an HTTP/1 response.
    pub(crate) fn is_answered_by_http(&self) -> bool {
        self.is_answered_by_http.load(Relaxed)
    }

    /// Refuses all further writes, and returns how many bytes were written.
    pub(crate) fn seal(&self) -> u64 {
        let mut state = self.state();
        state.is_sealed = true;
        state.written
    }

    fn state(&self) -> MutexGuard<'_, MeterState> {
        // The count is complete after every write, even if the stream below panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A byte stream with a meter in it.
pub(crate) struct Metered {
    io: Box<dyn ByteStream>,
    meter: Arc<Meter>,
    /// Whether a byte was read.
    has_read: bool,
}

impl Metered {
    pub(crate) fn new(io: Box<dyn ByteStream>) -> (Self, Arc<Meter>) {
        let meter = Arc::new(Meter::default());
        (Self { io, meter: meter.clone(), has_read: false }, meter)
    }

    /// Writes under the meter's lock, so that no byte is written after a seal.
    fn write_metered(
        &mut self,
        given: usize,
        write: impl FnOnce(Pin<&mut dyn ByteStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let mut state = self.meter.state();
        if state.is_sealed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let written = write(Pin::new(&mut *self.io));
        if let Poll::Ready(Ok(count)) = &written {
            state.written += *count as u64;
        }
        state.is_behind = !matches!(&written, Poll::Ready(Ok(count)) if *count == given);
        written
    }

    /// Refuses a flush after a seal, because a layer below may hold bytes back.
    fn refuse_if_sealed(&self) -> io::Result<()> {
        if self.meter.state().is_sealed { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        let came = &buffer.filled()[before..];
        if !self.has_read && !came.is_empty() {
            self.has_read = true;
            self.meter.is_answered_by_http.store(came.starts_with(b"HTTP/"), Relaxed);
        }
        read
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write_metered(bytes.len(), |io| io.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let given = slices.iter().map(|slice| slice.len()).sum();
        self.write_metered(given, |io| io.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.refuse_if_sealed()?;
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.refuse_if_sealed()?;
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn a_sealed_connection_lets_no_further_byte_out() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let (mut metered, meter) = Metered::new(Box::new(ours));
        metered.write_all(b"hello").await.unwrap();

        let sealed_at = meter.seal();

        assert_eq!(sealed_at, 5);
        assert_eq!(metered.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(meter.written(), 5);
    }

    #[tokio::test]
    async fn only_what_the_stream_took_is_counted() {
        let (ours, _theirs) = tokio::io::duplex(3);
        let (mut metered, meter) = Metered::new(Box::new(ours));

        let taken = metered.write(b"hello").await.unwrap();

        assert_eq!((taken, meter.written()), (3, 3));
        assert!(meter.is_behind());
    }

    #[tokio::test]
    async fn what_a_layer_below_kept_back_does_not_follow_a_seal() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let (mut metered, meter) = Metered::new(Box::new(ours));

        meter.seal();

        assert!(metered.flush().await.is_err());
        assert!(metered.shutdown().await.is_err());
    }
}
