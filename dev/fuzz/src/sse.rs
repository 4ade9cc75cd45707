//! The decoder of event streams, compared with a readable version of the standard.
//!
//! The first byte chooses the limit, the second how the rest is cut into chunks.

use bytes::Bytes;
// The code that is shared with the decoder's own tests finds these here.
pub(crate) use ridethrough_wire::sse::{Decoder, Item, TooLarge};

#[path = "../../../crates/wire/src/sse/tests/seen.rs"]
#[expect(dead_code, reason = "the decoder's own tests use more of it")]
mod seen;
#[path = "../../../crates/wire/src/sse/tests/standard.rs"]
mod standard;

use seen::{Fields, LARGE, PACES, Seen, decode_at, next};
use standard::by_the_standard;

/// Checks that the items of a stream are those of the standard, however it is cut and whenever they are
/// taken, and that no block beyond the limit is reported or held.
pub fn sse(input: &[u8]) {
    let [limit, cut, stream @ ..] = input else { return };
    let expected = by_the_standard(stream);
    let chunks = chunks(stream, *cut);
    let pace = PACES[usize::from(cut % 3)];
    assert_eq!(decode_at(pace, LARGE, &chunks), expected, "{pace:?}, cut by {cut}");

    let limit = usize::from(*limit);
    let limited = decode_within(limit, &chunks);
    let before = limited.strip_suffix(&[Seen::TooLarge]).unwrap_or(&limited);
    let is_cut_short = before.len() < limited.len();
    assert_eq!(is_cut_short, largest_block(stream) > limit, "limit {limit}");
    assert!(expected.starts_with(before), "limit {limit}");
    assert!(is_cut_short || before.len() == expected.len(), "limit {limit}");
    assert!(before.iter().all(|item| size(item) <= limit * 3), "limit {limit}");
}

/// Decodes everything up to the limit, and checks that no more is in memory.
fn decode_within(limit: usize, chunks: &[&[u8]]) -> Vec<Seen> {
    let mut decoder = Decoder::new(limit);
    let mut seen = Vec::new();
    for chunk in chunks {
        decoder.feed(Bytes::copy_from_slice(chunk));
        seen.extend(std::iter::from_fn(|| next(&mut decoder)));
        assert!(decoder.held() <= limit, "{} held, limit {limit}", decoder.held());
    }
    seen
}

/// Returns how much text an item has; a byte that is not UTF-8 was replaced by three.
fn size(item: &Seen) -> usize {
    let text = |it: &Option<String>| it.as_ref().map_or(0, String::len);
    match item {
        Seen::Event(Fields { data, kind, id, .. }) => data.len() + text(kind) + text(id),
        Seen::Comment | Seen::TooLarge => 0,
    }
}

/// Returns the most bytes in the field lines of one block, complete or not.
fn largest_block(stream: &[u8]) -> usize {
    let mark = "\u{feff}".as_bytes();
    // What may still become a byte order mark is not part of a line yet.
    if mark.starts_with(stream) {
        return 0;
    }
    let stream = stream.strip_prefix(mark).unwrap_or(stream);
    let (mut largest, mut block) = (0, 0);
    let mut rest = stream;
    loop {
        let end = rest.iter().position(|byte| b"\r\n".contains(byte));
        let line = &rest[..end.unwrap_or(rest.len())];
        match line {
            [] if end.is_some() => block = 0,
            [b':', ..] => {}
            line => block += line.len(),
        }
        largest = largest.max(block);
        let Some(end) = end else { return largest };
        let is_pair = rest[end..].starts_with(b"\r\n");
        rest = &rest[end + 1 + usize::from(is_pair)..];
    }
}

/// Returns the stream in pieces: of one byte, of a few, or of many, sometimes of none.
fn chunks(stream: &[u8], cut: u8) -> Vec<&[u8]> {
    let mut state = u32::from(cut) * 2 + 1;
    let mut rest = stream;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let longest = 2 << (cut % 7);
        let length = (state >> 16) as usize % longest;
        let (chunk, after) = rest.split_at(length.min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}
