//! Messages as lines: cut out of a stream of bytes, and written into one.
//!
//! It knows nothing of processes or JSON-RPC, so that every fault of a stream can be tested in memory. It
//! never holds more of a line than its limit, and never reports a message as unsent unless that is certain.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use ridethrough_wire::line_buffer::{LineBuffer, is_blank};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::overlong::Glance;

/// The lines of a stream.
pub(super) struct Lines<R> {
    source: R,
    buffer: LineBuffer,
    limit: usize,
    /// A line beyond the limit that is being skipped, and how much of it was.
    skipped: Option<(Glance, usize)>,
}

/// Why there is no next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoLine {
    /// The stream ended or broke: nothing more comes.
    End,
    /// A line was beyond the limit and was skipped; the value is the call that it answered, if it was an
    /// answer. The next line can be read.
    TooLong(Option<u64>),
    /// A line beyond the limit has no end.
    WithoutEnd,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R, limit: usize) -> Self {
        Self { source, buffer: LineBuffer::default(), limit, skipped: None }
    }

    /// Returns the next line that is not blank, without its end. Text before the end of the stream is a line
    /// too: some servers write their last line so.
    pub(super) async fn next(&mut self) -> Result<Bytes, NoLine> {
        loop {
            if let Some(line) = self.cut()? {
                return Ok(line);
            }
            match self.source.read_buf(self.buffer.room()).await {
                Ok(1..) => {}
                Ok(0) if self.skipped.is_none() && !is_blank(self.buffer.held()) => {
                    return Ok(without_carriage_returns(self.buffer.take()));
                }
                Ok(0) | Err(_) => return Err(NoLine::End),
            }
        }
    }

    fn cut(&mut self) -> Result<Option<Bytes>, NoLine> {
        while let Some(line) = self.buffer.cut() {
            let line = without_carriage_returns(line);
            if self.skipped.is_some() || line.len() > self.limit {
                return Err(self.finish_skipping(&line));
            }
            if !is_blank(&line) {
                return Ok(Some(line));
            }
        }
        // One byte more than the limit may be the carriage return of a line end.
        if self.skipped.is_some() || self.buffer.held().len() > self.limit + 1 {
            self.skip()?;
        }
        Ok(None)
    }

    /// Drops the beginning of a line that is too long.
    fn skip(&mut self) -> Result<(), NoLine> {
        let (glance, skipped) = self.skipped.get_or_insert_default();
        glance.look(self.buffer.held());
        *skipped += self.buffer.held().len();
        self.buffer.clear();
        if *skipped > self.limit.saturating_mul(MOST_SKIPPED) {
            Err(NoLine::WithoutEnd)
        } else {
            Ok(())
        }
    }

    fn finish_skipping(&mut self, rest: &[u8]) -> NoLine {
        let (mut glance, _) = self.skipped.take().unwrap_or_default();
        glance.look(rest);
        NoLine::TooLong(glance.answers())
    }
}

/// Removes carriage returns. The last one belongs to a Windows line end; others can only be white space
/// between tokens of JSON, which an event stream would take for line ends.
fn without_carriage_returns(mut line: BytesMut) -> Bytes {
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    for byte in line.iter_mut().filter(|byte| **byte == b'\r') {
        *byte = b' ';
    }
    line.freeze()
}

/// A message on its way into a stream.
pub(super) struct OutgoingLine {
    line: Bytes,
    written: Arc<AtomicUsize>,
    sent: oneshot::Sender<()>,
}

/// The receipt for a line that is to be written.
pub(super) struct Receipt {
    length: usize,
    written: Arc<AtomicUsize>,
    sent: oneshot::Receiver<()>,
}

/// Why a line may not have been sent whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsent {
    /// The last byte of the message was not written, so that no reader can have a whole message: JSON without
    /// its closing brace is none. A server that takes the end of its input for the end of a line still has no
    /// line that it could act on.
    Certainly,
    /// The message was written and only its line end is missing.
    Perhaps,
}

/// Puts a message on a line of its own.
pub(super) fn letter(message: &Bytes) -> (OutgoingLine, Receipt) {
    let mut line = BytesMut::with_capacity(message.len() + 1);
    line.extend_from_slice(message);
    // Params keep the caller's formatting, which may have several lines. In JSON a line end can only be white
    // space.
    for byte in line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    line.extend_from_slice(b"\n");
    let (sent, receipt) = oneshot::channel();
    let written = Arc::<AtomicUsize>::default();
    let receipt = Receipt { length: message.len(), written: written.clone(), sent: receipt };
    (OutgoingLine { line: line.freeze(), written, sent }, receipt)
}

impl Receipt {
    /// Waits until the line was written, or never will be.
    pub(super) async fn outcome(mut self) -> Result<(), Unsent> {
        if (&mut self.sent).await.is_ok() {
            return Ok(());
        }
        // The writer has dropped the line: nothing can follow the counted bytes.
        if self.written.load(Ordering::Acquire) < self.length {
            Err(Unsent::Certainly)
        } else {
            Err(Unsent::Perhaps)
        }
    }
}

/// Writes lines one after the other, until the last sender is dropped or the stream breaks.
///
/// A line whose sender is gone is left out, if it was not begun; once begun it is written to its end, because
/// half a line would spoil the next.
pub(super) async fn write_letters<W: AsyncWrite + Unpin>(
    mut sink: W,
    mut letters: mpsc::Receiver<OutgoingLine>,
) -> io::Result<()> {
    while let Some(letter) = letters.recv().await {
        if letter.sent.is_closed() {
            continue;
        }
        let mut rest = &letter.line[..];
        while !rest.is_empty() {
            let count = sink.write(rest).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            letter.written.fetch_add(count, Ordering::Release);
            rest = &rest[count..];
        }
        sink.flush().await?;
        // The sender may be gone meanwhile.
        let _ = letter.sent.send(());
    }
    Ok(())
}

/// How many times the limit of a line is skipped before it counts as one without an end.
const MOST_SKIPPED: usize = 8;

#[cfg(test)]
mod tests;
