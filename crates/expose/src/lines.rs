//! The lines of a child, cut out of a stream of bytes. It never holds more of a line than its limit.

use std::convert::Infallible;

use bytes::Bytes;
use ridethrough_wire::line_buffer::{LineBuffer, is_blank};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads what a child writes, line by line.
pub(crate) struct Lines<R> {
    source: R,
    buffer: LineBuffer,
    limit: usize,
}

/// The error of a line that is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self { source, buffer: LineBuffer::default(), limit }
    }

    /// Waits for the next line that is not blank, without its end; `None` at the end of the stream. A last
    /// line without an end is incomplete and is dropped. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        loop {
            // A line is kept for long, and must not keep in memory the bytes that were read with it.
            while let Some(line) = self.buffer.cut_alone() {
                if !is_blank(&line) {
                    return Ok(Some(line));
                }
            }
            if self.buffer.held().len() > self.limit {
                return Err(TooLong);
            }
            match self.source.read_buf(self.buffer.room()).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Ok(None),
            }
        }
    }

    /// Reads whatever comes, and keeps none of it.
    pub(crate) async fn drain(&mut self) -> Infallible {
        self.buffer = LineBuffer::default();
        while let Ok(1..) = self.source.read_buf(self.buffer.room()).await {
            self.buffer.clear();
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_cut_and_an_unfinished_one_is_none() {
        let mut lines = Lines::new(&b"{\"a\":1}\r\n\n  \n{}\nlast"[..], 100);

        assert_eq!(lines.next().await, Ok(Some("{\"a\":1}\r".into())));
        assert_eq!(lines.next().await, Ok(Some("{}".into())));
        assert_eq!(lines.next().await, Ok(None));
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_not_held_for_ever() {
        let endless = vec![b'x'; 1 << 20];

        assert_eq!(Lines::new(&*endless, 1000).next().await, Err(TooLong));
    }
}
