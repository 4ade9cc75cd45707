//! The lines of a child, cut out of a stream of bytes. It never holds more of a line than its limit.

use std::convert::Infallible;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads what a child writes, line by line.
pub(crate) struct Lines<R> {
    source: R,
    unread: BytesMut,
    /// The length of the beginning of `unread` that has no line end.
    searched: usize,
    limit: usize,
}

/// The line is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self { source, unread: BytesMut::new(), searched: 0, limit }
    }

    /// Waits for the next line that is not blank, without its end; `None` at the end of the stream. A last
    /// line without an end is incomplete and is dropped. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        loop {
            while let Some(at) = memchr::memchr(b'\n', &self.unread[self.searched..]) {
                let line = self.cut(self.searched + at);
                if !line.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(line));
                }
            }
            self.searched = self.unread.len();
            if self.unread.len() > self.limit {
                return Err(TooLong);
            }
            self.unread.reserve(CHUNK);
            match self.source.read_buf(&mut self.unread).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Ok(None),
            }
        }
    }

    /// Takes a line of this length, and its end, out of the buffer. Lines are kept for long, so a short one
    /// must not hold the whole buffer, nor a long one the bytes behind it.
    fn cut(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        if length < CHUNK {
            let line = Bytes::copy_from_slice(&self.unread[..length]);
            self.unread.advance(length + 1);
            return line;
        }
        // A buffer grows by doubling, so half of it may be empty.
        let is_roomy = self.unread.capacity() > length + length / 4;
        let rest = BytesMut::from(&self.unread[length + 1..]);
        let mut line = std::mem::replace(&mut self.unread, rest);
        line.truncate(length);
        if is_roomy { Bytes::copy_from_slice(&line) } else { line.freeze() }
    }

    /// Reads and drops everything.
    pub(crate) async fn drain(&mut self) -> Infallible {
        self.unread = BytesMut::with_capacity(CHUNK);
        self.searched = 0;
        while let Ok(1..) = self.source.read_buf(&mut self.unread).await {
            self.unread.clear();
        }
        std::future::pending().await
    }
}

const CHUNK: usize = 16 * 1024;

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
    async fn a_line_holds_no_bytes_but_its_own() {
        let long = "x".repeat(1 << 20);
        let text = format!("{long}\nshort\nnext\n");
        let mut lines = Lines::new(text.as_bytes(), 2 << 20);

        assert_eq!(lines.next().await.unwrap().unwrap(), long);
        assert!(lines.unread.capacity() < 10 * CHUNK, "{}", lines.unread.capacity());
        let short = lines.next().await.unwrap().unwrap();
        assert_eq!((&*short, short.is_unique()), (&b"short"[..], true));
        assert_eq!(lines.next().await, Ok(Some("next".into())));
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_not_held_for_ever() {
        let endless = vec![b'x'; 1 << 20];

        assert_eq!(Lines::new(&*endless, 1000).next().await, Err(TooLong));
    }
}
