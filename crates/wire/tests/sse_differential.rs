//! Compares the decoder with an independent one, the crate `sse-core`, over random streams with many
//! irregular lines.
//!
//! The two report in different units, so both are reduced to what a client would act upon: the messages
//! that have data, each with the last event id and the delay in force when it came. Where they differ
//! in kind:
//!
//! - `sse-core` reports `retry` when its line ends, as the standard has it, and this decoder reports it with
//!   its block. The two agree at each message, and at the end of a stream that does not end within a block.
//! - `sse-core` keeps `retry` in 32 bits and ignores the field if its value is larger, although the
//!   standard knows no bound. This is its one deviation from the standard that was found; the grammar
//!   stays within `u32`.
//! - `sse-core` drops a block without data and dispatches one whose data is the empty string; this decoder
//!   reports both alike. Such events are left out, but their ids and delays count.
//! - `sse-core` does not report comments, and means something else by its limit, which is never reached.

use bytes::Bytes;
use ridethrough_wire::sse::{Decoder, Item};
use sse_core::{SseDecoder, SseEvent};

#[test]
fn both_decoders_make_the_same_of_a_hundred_thousand_streams() {
    let mut random = SplitMix64(0x5eed);
    let mut messages = 0;

    for round in 0..100_000 {
        let stream = stream(&mut random);

        let ours = ours(&chunks(&stream, &mut random));
        let theirs = theirs(&chunks(&stream, &mut random));

        assert_eq!(ours, theirs, "round {round}: b\"{}\"", stream.escape_ascii());
        messages += ours.len() - 1;
    }

    // Streams without messages would agree too easily.
    assert!(messages > 100_000, "only {messages} messages");
}

/// The state of a client when a message arrives or, without a message, at the end of the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    message: Option<(String, String)>,
    last_id: String,
    retry: Option<u128>,
}

fn ours(chunks: &[Bytes]) -> Vec<State> {
    let mut decoder = Decoder::new(1 << 20);
    let mut states = Vec::new();
    let mut state = State::default();
    for chunk in chunks {
        decoder.feed(chunk.clone());
        while let Some(item) = decoder.next_item() {
            let Item::Event(event) = item.expect("no stream reaches the limit") else { continue };
            if let Some(id) = event.id {
                state.last_id = id.as_str().to_owned();
            }
            if let Some(retry) = event.retry {
                state.retry = Some(retry.as_millis());
            }
            if !event.data.is_empty() {
                let kind = event.kind.map_or_else(|| "message".to_owned(), String::from);
                let data = String::from_utf8(event.data.into()).expect("data is always UTF-8");
                states.push(State { message: Some((kind, data)), ..state.clone() });
            }
        }
    }
    states.push(state);
    states
}

fn theirs(chunks: &[Bytes]) -> Vec<State> {
    let mut decoder = SseDecoder::new();
    let mut states = Vec::new();
    let mut retry = None;
    for chunk in chunks {
        let mut chunk = chunk.clone();
        while let Some(event) = decoder.next(&mut chunk) {
            match event.expect("no stream reaches the limit") {
                SseEvent::Retry(millis) => retry = Some(u128::from(millis)),
                SseEvent::Message(event) if event.data.is_empty() => {}
                SseEvent::Message(event) => states.push(State {
                    message: Some((event.event.into_owned(), event.data)),
                    last_id: event.last_event_id.as_deref().unwrap_or_default().to_owned(),
                    retry,
                }),
            }
        }
    }
    let last_id = decoder.last_event_id().map_or_else(String::new, |id| id.to_string());
    states.push(State { message: None, last_id, retry });
    states
}

/// Returns a stream of up to twenty lines.
///
/// It ends either with a block that is finished, or with one that is not and has no `retry`.
fn stream(random: &mut SplitMix64) -> Vec<u8> {
    let mut stream = random.pick(START).to_vec();
    for _ in 0..random.below(20) {
        line(random, NAMES, &mut stream);
    }
    stream.extend_from_slice(b"\n\n");
    for _ in 0..random.below(3) {
        line(random, &NAMES[1..], &mut stream);
    }
    stream
}

fn line(random: &mut SplitMix64, names: &[&[u8]], stream: &mut Vec<u8>) {
    let name = random.pick(names);
    stream.extend_from_slice(name);
    stream.extend_from_slice(random.pick(COLONS));
    for _ in 0..random.below(4) {
        stream.extend_from_slice(random.pick(VALUES));
    }
    let ends = if name == b"retry" { &ENDS[1..] } else { ENDS };
    stream.extend_from_slice(random.pick(ends));
}

/// Cuts the stream at random: into single bytes, into a few large parts, or anything between.
fn chunks(stream: &[u8], random: &mut SplitMix64) -> Vec<Bytes> {
    let doublings = random.below(9);
    let longest = 1 + random.below(1 << doublings);
    let mut rest = Bytes::copy_from_slice(stream);
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        chunks.push(rest.split_to(random.below(longest + 1).min(rest.len())));
    }
    chunks
}

/// The generator of Steele, Lea and Flood: small, and equal on every machine.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<'a>(&mut self, choices: &[&'a [u8]]) -> &'a [u8] {
        choices[self.below(choices.len())]
    }
}

const START: &[&[u8]] = &[
    b"",
    b"",
    b"",
    b"\xef\xbb\xbf",
    b"\xef\xbb\xbf",
    b"\xef\xbb\xbf\xef\xbb\xbf",
    b"\xef\xbb",
    b"\xef",
];

/// The names of fields. `retry` comes first, so that it can be left out.
const NAMES: &[&[u8]] = &[
    b"retry",
    b"data",
    b"data",
    b"data",
    b"data",
    b"data",
    b"data",
    b"data",
    b"data",
    b"event",
    b"event",
    b"id",
    b"id",
    b"",
    b"",
    b"",
    b"dat",
    b"datas",
    b"Data",
    b" data",
    b"data\0",
    b"i",
    b"foo",
    b"\xef\xbb\xbfdata",
    b"\xff",
    b"\0",
];

const COLONS: &[&[u8]] = &[b":", b":", b": ", b": ", b": ", b":  ", b"", b" :", b"::", b":\t"];

/// The values of fields. Numbers have at most three digits, so that three in a row are a delay that fits into
/// `u32`.
const VALUES: &[&[u8]] = &[
    b"a",
    b"message",
    b"{\"jsonrpc\":\"2.0\"}",
    b"a text that is long enough to be searched in more than one step of sixty-four bytes each",
    b"0",
    b"007",
    b"250",
    b" ",
    b":",
    b"\0",
    b"data: ",
    "é".as_bytes(),
    "💩".as_bytes(),
    b"\xff",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x92",
    b"\xbf",
    b"\xef\xbb\xbf",
];

/// The ends of lines. The empty end, which joins two lines, comes first: it could make a delay too long.
const ENDS: &[&[u8]] = &[
    b"",
    b"\n",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\n\n",
    b"\r\r",
    b"\r\n\r\n",
    b"\n\r",
    b"\r\n\r",
];
