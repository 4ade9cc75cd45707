//! The lines of a child, cut out of a stream of bytes. Never holds more of one than its limit.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What a child writes, line by line.
pub(crate) struct Lines<R> {
    source: R,
    unread: BytesMut,
    /// How much of `unread` is known to hold no line end.
    searched: usize,
    limit: usize,
}

/// The line is longer than any that is taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self { source, unread: BytesMut::new(), searched: 0, limit }
    }

    /// The next line that is not blank, without its end; `None` when no more can come. A line without
    /// an end was not finished and is none. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        loop {
            while let Some(at) = memchr::memchr(b'\n', &self.unread[self.searched..]) {
                let line = self.unread.split_to(self.searched + at + 1).freeze();
                self.searched = 0;
                if !line.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(line.slice(..line.len() - 1)));
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
    async fn a_line_without_an_end_is_not_held_for_ever() {
        let endless = vec![b'x'; 1 << 20];

        assert_eq!(Lines::new(&*endless, 1000).next().await, Err(TooLong));
    }
}
