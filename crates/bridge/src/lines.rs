//! The lines of the host, as they come.

use ridethrough_wire::line_buffer::{BoundedLines, Line};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The end at which the host writes. It is boxed, so that the loop is compiled once.
pub(crate) type Source = Box<dyn AsyncRead + Send + Unpin>;

/// Reads what the host writes, line by line.
pub(crate) struct Lines {
    source: Source,
    lines: BoundedLines,
}

impl Lines {
    /// Creates a reader of lines of up to `limit` bytes.
    pub(crate) fn new(source: Source, limit: usize) -> Self {
        Self { source, lines: BoundedLines::new(limit) }
    }

    /// Waits for the next line; `None` when the host has closed its end, or reading failed. What comes before
    /// the end of the stream is a line too, whole or lost. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.lines.cut() {
                return Some(line);
            }
            match self.source.read_buf(self.lines.room()).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return self.lines.cut_last(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_cut_wherever_the_bytes_are_cut() {
        let text = b"{\"a\":1}\r\n\n  \n{\"b\":2}\nlast";

        for size in 1..text.len() {
            let (mut lines, cut) = (Vec::new(), Slow { rest: text, size });
            let mut source = Lines::new(Box::new(cut), 100);
            while let Some(line) = source.next().await {
                lines.push(line);
            }

            let whole = |text: &'static str| Line::Whole(text.into());
            assert_eq!(lines, [whole("{\"a\":1}\r"), whole("{\"b\":2}"), whole("last")], "{size}");
        }
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_lost_and_the_next_one_is_not() {
        for size in [1, 7, 1000] {
            let text = b"0123456789A\n0123456789\n";
            let mut source = Lines::new(Box::new(Slow { rest: text, size }), 10);

            assert_eq!(source.next().await, Some(Line::Lost), "{size}");
            assert_eq!(source.next().await, Some(Line::Whole("0123456789".into())), "{size}");
            assert_eq!(source.next().await, None, "{size}");
        }
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_that_never_ends_is_lost_once() {
        let slow = Slow { rest: b"0123456789A", size: 3 };
        let mut source = Lines::new(Box::new(slow), 10);

        assert_eq!(source.next().await, Some(Line::Lost));
        assert_eq!(source.next().await, None);
    }

    /// Gives a few bytes at a time.
    struct Slow {
        rest: &'static [u8],
        size: usize,
    }

    impl AsyncRead for Slow {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            into: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            let (now, later) = self.rest.split_at(self.size.min(self.rest.len()));
            into.put_slice(now);
            self.rest = later;
            std::task::Poll::Ready(Ok(()))
        }
    }
}
