//! Cuts a stream into lines, wherever its chunks happen to be cut, and keeps blocks within the limit.
//!
//! A line that lies in one chunk is left there; only one that spans chunks is copied together. No byte
//! is searched for a line end again because more have come, and comments are dropped as they are read.
//!
//! ```text
//!                   +-------------- LF --------------+
//!                   v                                |
//! StreamStart --> LineStart --> InField or InComment +-- CR --> AfterCr: a LineStart that
//!                                  |                            swallows one LF first
//!                                  +-- over the limit --> Spent
//! ```

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

use bytes::Bytes;
use memchr::memchr2;

use super::TooLarge;
use super::block::Block;

/// The stream as far as it has been fed, and how far it has been cut.
pub(super) struct Lines {
    limit: usize,
    /// How many bytes the field lines of the current block have brought so far.
    used: usize,
    place: Place,
    /// The start of a field line whose end has not been seen; empty outside of [`Place::InField`].
    begun: Vec<u8>,
    /// How many of the first bytes of `begun` are known to be ASCII.
    begun_ascii: usize,
    /// The chunk being read; empty once it has been dropped.
    chunk: Bytes,
    /// How much of `chunk` has been read.
    at: usize,
    /// Chunks that were fed while `chunk` was being read.
    waiting: VecDeque<Bytes>,
}

/// Why reading stopped, other than for lack of bytes.
pub(super) enum Stop {
    /// An empty line: the block is complete.
    Blank,
    /// The end of a comment line.
    Comment,
    /// The block is complete, and its only data is at this place in the chunk.
    Message(Range<usize>),
    /// The block has outgrown the limit.
    TooLarge(TooLarge),
}

/// What the next byte belongs to, in the order a stream passes through.
#[derive(Clone, Copy)]
enum Place {
    /// The start of the stream; the number of bytes that have matched the byte order mark.
    StreamStart(usize),
    /// The start of a line.
    LineStart,
    /// A field line.
    InField,
    /// A comment line.
    InComment,
    /// The start of a line after CR. The CR has already ended its line, so that an event never waits for a
    /// byte that may not come; an LF that follows is still part of that line end.
    AfterCr,
    /// The end: a block was too large.
    Spent,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            place: Place::StreamStart(0),
            begun: Vec::new(),
            begun_ascii: 0,
            chunk: Bytes::new(),
            at: 0,
            waiting: VecDeque::new(),
        }
    }

    pub(super) const fn used(&self) -> usize {
        self.used
    }

    pub(super) fn feed(&mut self, chunk: Bytes) {
        if matches!(self.place, Place::Spent) {
            return;
        }
        // A chunk that has been read to its end must stay until `read` has settled the block, and
        // `read` never leaves an empty one in its place while others wait.
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            self.waiting.push_back(chunk);
        }
    }

    /// Returns the chunk being read, in which the block may have left its data.
    pub(super) fn chunk(&self) -> &Bytes {
        &self.chunk
    }

    /// Adds field lines to `block` until something stops it; `None` once everything fed has been read.
    pub(super) fn read(&mut self, block: &mut Block) -> Option<Stop> {
        loop {
            let Some(&next) = self.chunk.get(self.at) else {
                block.settle(&self.chunk);
                self.next_chunk()?;
                continue;
            };
            let stop = match (self.place, next) {
                (Place::StreamStart(matched), _) => {
                    self.skip_byte_order_mark(matched, next);
                    None
                }
                (Place::AfterCr, b'\n') => {
                    self.at += 1;
                    self.place = Place::LineStart;
                    None
                }
                (Place::LineStart | Place::AfterCr, b'\n' | b'\r') => {
                    self.used = 0;
                    self.pass(0).then_some(Stop::Blank)
                }
                (Place::LineStart | Place::AfterCr, b':') => {
                    self.place = Place::InComment;
                    None
                }
                (Place::LineStart, b'e') if self.rest().starts_with(MESSAGE_LINE) => {
                    self.at += MESSAGE_LINE.len();
                    block.be_message();
                    self.count(MESSAGE_LINE.len() - 1)
                }
                (Place::LineStart | Place::AfterCr | Place::InField, _) => self.read_field(block),
                (Place::InComment, _) => self.skip_comment(),
                (Place::Spent, _) => return None,
            };
            if stop.is_some() {
                return stop;
            }
        }
    }

    fn next_chunk(&mut self) -> Option<()> {
        // The old chunk is dropped even if none follows, so that an idle stream holds nothing.
        self.chunk = Bytes::new();
        self.at = 0;
        self.chunk = self.waiting.pop_front()?;
        Some(())
    }

    fn skip_byte_order_mark(&mut self, matched: usize, next: u8) {
        let (before, after) = BYTE_ORDER_MARK.split_at(matched);
        match after {
            [expected, rest @ ..] if *expected == next => {
                self.at += 1;
                self.place = if rest.is_empty() {
                    Place::LineStart
                } else {
                    Place::StreamStart(matched + 1)
                };
            }
            _ if before.is_empty() => self.place = Place::LineStart,
            // What began like the mark is the start of a field's name.
            _ => {
                self.begun.extend_from_slice(before);
                self.used = before.len();
                self.place = Place::InField;
            }
        }
    }

    fn skip_comment(&mut self) -> Option<Stop> {
        let rest = self.rest();
        let len = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        self.pass(len).then_some(Stop::Comment)
    }

    /// Reads on in a field line, and adds it to `block` if its end is there.
    fn read_field(&mut self, block: &mut Block) -> Option<Stop> {
        let start = self.at;
        let Piece { len, ascii } = measure(self.rest());
        if let Some(too_large) = self.count(len) {
            return Some(too_large);
        }

        let range = start..start + len;
        if ascii == len && self.is_message(&range) && !block.has_data() {
            self.at = range.end + 2;
            self.place = Place::LineStart;
            self.used = 0;
            return Some(Stop::Message(range.start + DATA.len()..range.end));
        }
        self.place = Place::InField;
        let is_whole = self.pass(len);
        if is_whole && self.begun.is_empty() {
            block.add(&self.chunk, range, ascii);
            return None;
        }
        self.keep(range, ascii);
        if is_whole {
            let line = Bytes::from(mem::take(&mut self.begun));
            block.add(&line, 0..line.len(), mem::take(&mut self.begun_ascii));
            block.settle(&line);
        }
        None
    }

    /// Returns the unread part of the chunk.
    fn rest(&self) -> &[u8] {
        self.chunk.get(self.at..).unwrap_or_default()
    }

    /// Counts the bytes of a field line against the limit.
    #[inline]
    fn count(&mut self, len: usize) -> Option<Stop> {
        self.used = self.used.saturating_add(len);
        (self.used > self.limit).then(|| Stop::TooLarge(self.give_up()))
    }

    /// Whether the line at `range` is a whole line of data, and the last of its block. Almost every event is
    /// a single such line, and is then read at once.
    fn is_message(&self, range: &Range<usize>) -> bool {
        let end = self.chunk.get(range.end..).unwrap_or_default();
        let line = self.chunk.get(range.clone()).unwrap_or_default();
        end.starts_with(b"\n\n") && line.starts_with(DATA) && self.begun.is_empty()
    }

    /// Keeps a piece of a field line until the rest of it comes.
    fn keep(&mut self, range: Range<usize>, ascii: usize) {
        if self.begun.is_empty() {
            // Appending the second piece would double the capacity; reserving it at once saves a copy.
            self.begun.reserve(2 * range.len());
        }
        if self.begun_ascii == self.begun.len() {
            self.begun_ascii += ascii;
        }
        self.begun.extend_from_slice(self.chunk.get(range).unwrap_or_default());
    }

    /// Advances past `len` bytes and the line end after them, and returns whether that end was there.
    fn pass(&mut self, len: usize) -> bool {
        self.at += len;
        let Some(&end) = self.chunk.get(self.at) else {
            return false;
        };
        self.at += 1;
        self.place = if end == b'\r' { Place::AfterCr } else { Place::LineStart };
        true
    }

    #[cold]
    fn give_up(&mut self) -> TooLarge {
        let limit = self.limit;
        *self = Self { place: Place::Spent, ..Self::new(limit) };
        TooLarge { limit }
    }
}

/// The part of a line in a chunk.
struct Piece {
    /// How many bytes come before the line end, or the end of the chunk.
    len: usize,
    /// How many of the first of them are known to be ASCII.
    ascii: usize,
}

/// Finds the end of the line that `bytes` begin with.
///
/// Looking for it and then for bytes that may not be UTF-8 would be two walks over every event. The
/// usual line is printable ASCII, and for that one walk settles both.
fn measure(bytes: &[u8]) -> Piece {
    let plain = plain_blocks::<128>(bytes, 0);
    let plain = plain_blocks::<16>(bytes, plain);
    let (words, _) = bytes.get(plain..).unwrap_or_default().as_chunks::<8>();
    let mut at = plain;
    for word in words {
        let odd = odd_bytes(*word);
        if odd != 0 {
            at += odd.trailing_zeros() as usize / 8;
            break;
        }
        at += 8;
    }
    match bytes.get(at) {
        Some(b'\n' | b'\r') => Piece { len: at, ascii: at },
        _ => measure_odd(bytes, at),
    }
}

/// Finds the end of a line that has something other than printable ASCII after its first `plain` bytes, or
/// may end with its chunk.
fn measure_odd(bytes: &[u8], plain: usize) -> Piece {
    let rest = bytes.get(plain..).unwrap_or_default();
    match memchr2(b'\n', b'\r', rest) {
        Some(end) => Piece { len: plain + end, ascii: plain },
        None if rest.is_ascii() => Piece { len: bytes.len(), ascii: bytes.len() },
        None => Piece { len: bytes.len(), ascii: plain },
    }
}

/// Marks the bytes that are line ends or beyond ASCII, by the highest bit of each.
///
/// The lowest mark is right; those above it may be set by its borrow.
const fn odd_bytes(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    (word.wrapping_sub(LOW) & !word | word) & HIGH
}

/// Skips blocks from `start` on that hold neither a line end nor anything beyond ASCII, and returns where it
/// stopped; it may stop too early.
fn plain_blocks<const N: usize>(bytes: &[u8], start: usize) -> usize {
    // As signed numbers, LF and CR are below 0x0e, and what is not ASCII is below zero. The fold has no early
    // exit, because the compiler turns that into a few vector instructions.
    let is_odd = |block: &[u8; N]| {
        block.iter().fold(false, |is_odd, &byte| is_odd | (byte.cast_signed() < 0x0e))
    };
    let (blocks, _) = bytes.get(start..).unwrap_or_default().as_chunks::<N>();
    start + N * blocks.iter().position(is_odd).unwrap_or(blocks.len())
}

/// In each byte, the first value above LF and CR.
const LOW: u64 = u64::from_le_bytes([0x0e; 8]);
/// In each byte, the bit that ASCII does not have.
const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

/// The line that most events of most servers begin with.
const MESSAGE_LINE: &[u8; 15] = b"event: message\n";

const DATA: &[u8; 6] = b"data: ";

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_comment_is_not_buffered() {
        let mut lines = Lines::new(8);

        lines.feed(Bytes::from_static(b": "));
        for _ in 0..100 {
            lines.feed(Bytes::from(vec![b'x'; 1000]));
            assert!(lines.read(&mut Block::default()).is_none());
        }

        assert_eq!(lines.begun.capacity(), 0);
        assert!(lines.chunk.is_empty() && lines.waiting.is_empty());
    }

    #[test]
    fn a_line_is_measured_right_wherever_its_end_and_its_first_odd_byte_are() {
        for len in 0..200 {
            for odd in 0..=len {
                for byte in [0x00, b'\t', 0x0e, 0x7f, 0x80, 0xff] {
                    let mut line = vec![b'x'; len];
                    line.splice(odd..(odd + 1).min(len), [byte]);
                    let piece = measure(&line);
                    assert_eq!(piece.len, line.len());
                    assert!(line[..piece.ascii].is_ascii());

                    for end in *b"\r\n" {
                        let piece = measure(&[&line[..], &[end], b"\n more"].concat());
                        assert_eq!(piece.len, line.len());
                        assert!(line[..piece.ascii].is_ascii());
                    }
                }
            }
        }
    }
}
