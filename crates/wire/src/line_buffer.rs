//! Buffers of bytes that are to be cut into lines.
//!
//! They read nothing themselves. No byte is searched twice.

use bytes::{Bytes, BytesMut};

/// The beginning of a stream of lines.
#[derive(Debug, Default)]
pub struct LineBuffer {
    unread: BytesMut,
    /// How much of `unread` is known to hold no line end.
    searched: usize,
}

impl LineBuffer {
    /// Returns the buffer to read into, with room for one read.
    pub fn room(&mut self) -> &mut BytesMut {
        self.unread.reserve(CHUNK);
        &mut self.unread
    }

    /// Returns the length of the first line, without its end; `None` if its end has not arrived.
    pub fn find_end(&mut self) -> Option<usize> {
        let end = memchr::memchr(b'\n', &self.unread[self.searched..]);
        match end {
            Some(at) => Some(self.searched + at),
            None => {
                self.searched = self.unread.len();
                None
            }
        }
    }

    /// Takes out the first line, without its end.
    pub fn cut(&mut self) -> Option<BytesMut> {
        let end = self.find_end()?;
        let mut line = self.unread.split_to(end + 1);
        line.truncate(end);
        self.searched = 0;
        Some(line)
    }

    /// Takes out the first line as bytes that hold nothing else in memory, for lines that are kept for long.
    pub fn cut_alone(&mut self) -> Option<Bytes> {
        let end = self.find_end()?;
        if end < CHUNK {
            return Some(Bytes::copy_from_slice(&self.cut()?));
        }
        self.searched = 0;
        // A buffer grows by doubling, and half of it may be empty.
        let is_roomy = self.unread.capacity() > end + end / 4;
        let rest = BytesMut::from(&self.unread[end + 1..]);
        let mut line = std::mem::replace(&mut self.unread, rest);
        line.truncate(end);
        Some(if is_roomy { Bytes::copy_from_slice(&line) } else { line.freeze() })
    }

    /// Returns all bytes held: whole lines and the beginning of one.
    pub fn held(&self) -> &[u8] {
        &self.unread
    }

    /// Takes out all bytes held.
    pub fn take(&mut self) -> BytesMut {
        self.searched = 0;
        self.unread.split()
    }

    /// Drops all bytes held.
    pub fn clear(&mut self) {
        self.unread.clear();
        self.searched = 0;
    }
}

/// Lines of which no more is held than a limit.
#[derive(Debug)]
pub struct BoundedLines {
    buffer: LineBuffer,
    /// Whether the beginning of this line was dropped.
    is_skipping: bool,
    limit: usize,
}

/// One line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line that was longer than the limit.
    Lost,
    /// A whole line, without its end.
    Whole(Bytes),
}

impl BoundedLines {
    /// Creates a buffer of lines of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: LineBuffer::default(), is_skipping: false, limit }
    }

    /// Returns the buffer to read into, with room for one read.
    pub fn room(&mut self) -> &mut BytesMut {
        self.buffer.room()
    }

    /// Takes out the next line whose end has come.
    pub fn cut(&mut self) -> Option<Line> {
        while let Some(line) = self.buffer.cut() {
            if std::mem::take(&mut self.is_skipping) || line.len() > self.limit {
                return Some(Line::Lost);
            }
            // The carriage return of a Windows line end is white space in JSON.
            if !is_blank(&line) {
                return Some(Line::Whole(line.freeze()));
            }
        }
        if self.is_skipping || self.buffer.held().len() > self.limit {
            self.is_skipping = true;
            self.buffer.clear();
        }
        None
    }

    /// Takes out the line that the end of the stream cuts off.
    pub fn cut_last(&mut self) -> Option<Line> {
        let rest = self.buffer.take().freeze();
        if std::mem::take(&mut self.is_skipping) {
            Some(Line::Lost)
        } else {
            (!is_blank(&rest)).then_some(Line::Whole(rest))
        }
    }
}

/// Whether a line is empty or white space.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// How much is read at once.
const CHUNK: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_the_bytes_are_cut() {
        for size in 1..10 {
            let (mut buffer, mut lines) = (LineBuffer::default(), Vec::new());

            for piece in b"one\r\n\ntwo\nrest".chunks(size) {
                buffer.room().extend_from_slice(piece);
                lines.extend(std::iter::from_fn(|| buffer.cut()));
            }

            assert_eq!(lines, ["one\r", "", "two"], "{size}");
            assert_eq!(buffer.held(), b"rest", "{size}");
        }
    }

    #[test]
    fn a_line_that_is_cut_alone_holds_no_bytes_but_its_own() {
        let long = "x".repeat(1 << 20);
        let mut buffer = LineBuffer::default();
        buffer.room().extend_from_slice(format!("{long}\nshort\nnext\n").as_bytes());

        assert_eq!(buffer.cut_alone().unwrap(), long);
        assert!(buffer.unread.capacity() < 10 * CHUNK, "{}", buffer.unread.capacity());
        let short = buffer.cut_alone().unwrap();
        assert_eq!((&*short, short.is_unique()), (&b"short"[..], true));
        assert_eq!(buffer.cut_alone().unwrap(), "next");
        assert_eq!(buffer.cut_alone(), None);
    }
}
