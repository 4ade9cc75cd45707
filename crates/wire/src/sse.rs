//! Decodes a Server-Sent-Events stream, fed in whatever pieces the network delivers.
//!
//! The rules are those of the WHATWG HTML standard, section 9.2.6, "Interpreting an event stream". This
//! module never decides what an event *means* (a message, a priming id, a new delay).
//!
//! The decoder never waits for a byte it does not need, never holds more than a small multiple of its limit,
//! and never looks at a byte again because the rest of its line came later.
//!
//! ```text
//! chunks --> lines (cut, skip comments, limit) --> block (collect fields) --> Item
//! ```

use std::fmt;

use bytes::Bytes;

mod block;
mod event;
mod lines;
#[cfg(test)]
mod tests;

use block::Block;
pub use event::{EventId, SseEvent};
use lines::{Lines, Stop};

/// Turns the bytes of one response body into comments and events.
///
/// One decoder serves one body; a resumed stream is a new body and takes a new decoder. A block that
/// the end of the body cuts short is never reported, as the standard demands: its id must not become
/// the place to resume from.
///
/// ```
/// use bytes::Bytes;
/// use ridethrough_wire::sse::{Decoder, Item};
///
/// let mut decoder = Decoder::new(1024);
/// decoder.feed(Bytes::from_static(b"id: 7\ndata: hel"));
/// assert!(decoder.next_item().is_none());
///
/// decoder.feed(Bytes::from_static(b"lo\n\n"));
/// let Some(Ok(Item::Event(event))) = decoder.next_item() else { unreachable!() };
/// assert_eq!(event.data, "hello");
/// assert_eq!(event.id.as_ref().map(|id| id.as_str()), Some("7"));
/// ```
pub struct Decoder {
    lines: Lines,
    block: Block,
}

impl Decoder {
    /// Creates a decoder for one stream whose blocks hold at most `limit` bytes each.
    ///
    /// Every byte of a block's field lines counts, names and unfinished lines included; line ends and
    /// comments do not. Replacing bad UTF-8 may make an event up to three times as large as what was
    /// counted for it.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { lines: Lines::new(limit), block: Block::default() }
    }

    /// Hands over the next bytes of the stream.
    ///
    /// Chunks wait, uncopied, until [`next_item`](Self::next_item) gets to them; a caller that drains the
    /// items before feeding more keeps that queue empty.
    pub fn feed(&mut self, chunk: Bytes) {
        self.lines.feed(chunk);
    }

    /// Returns how many bytes of an unfinished block wait for the rest of it.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.lines.used()
    }

    /// Reports the next item, or `None` once everything fed so far has been used up.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] as soon as a block has outgrown the limit, finished or not. The decoder is then
    /// spent: it has let go of its memory and yields nothing more, whatever it is fed.
    pub fn next_item(&mut self) -> Option<Result<Item, TooLarge>> {
        loop {
            match self.lines.read(&mut self.block)? {
                Stop::Blank => {
                    if let Some(event) = self.block.finish(self.lines.chunk()) {
                        return Some(Ok(Item::Event(event)));
                    }
                }
                Stop::Comment => return Some(Ok(Item::Comment)),
                Stop::Message(data) => {
                    let data = self.lines.chunk().slice(data);
                    return Some(Ok(Item::Event(self.block.finish_with(data))));
                }
                Stop::TooLarge(too_large) => {
                    self.block = Block::default();
                    return Some(Err(too_large));
                }
            }
        }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The buffered bytes are payload, which no log may show.
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

/// One item of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A whole comment line: it carries nothing, but shows that the server is alive.
    Comment,
    /// A block with at least one field the standard knows, ended by a blank line.
    Event(SseEvent),
}

/// An event block outgrew the limit of its decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an event in the stream is larger than the limit of `{limit}` bytes; the rest of the stream was \
     not read; raise the limit if this server may send events that large"
)]
pub struct TooLarge {
    /// The most bytes one event block was allowed to hold.
    pub limit: usize,
}
