//! Every cut of a stream into chunks, and every pace of taking items, must give equal items.

use proptest::prelude::*;

use super::seen::{LARGE, PACES, decode, decode_at, decode_chunks};
use super::standard::by_the_standard;

#[test]
fn every_cut_of_a_stream_into_three_gives_the_items_of_the_whole() {
    let streams: [&[u8]; 10] = [
        b"data: a\n\n",
        b"\xef\xbb\xbfdata: a\r\n\r\n:b\r\n\r\n",
        b"\xef\xbb\xbf\xef\xbb\xbfid: 1\n\ndata:\xef\xbb\xbf\n\n",
        b"\xef\xbbid\n\xef\n\ndata: \xe2\x82\xac\n\n",
        b"id: 1\rdata: a\rdata\r\rretry: 10\r\n\r",
        b": c\n\n:\r\r: \r\n\r\ndata:a\r\n\r\n\r",
        b"event: m\r\ndata: a\r\n:x\r\ndata:  b\r\n\r\n",
        b"id: a\x00\nid\nretry:1\nretry:x\ndata: \xff\xf0\x9f\n\n",
        b"datax\ndat\nd:a\n\nevent\nid:\n\ndata: a",
        b"\n\r\n\r\r\ndata: \r\rdata\n\n\r\ndata: b\r\n\n",
    ];

    for stream in streams {
        assert_eq!(decode(stream), by_the_standard(stream), "{}", stream.escape_ascii());
        for limit in (0..12).chain([LARGE]) {
            let whole = decode_chunks(limit, &[stream]);
            for second in 0..=stream.len() {
                for third in second..=stream.len() {
                    let cut = [&stream[..second], &stream[second..third], &stream[third..]];
                    for pace in PACES {
                        let seen = decode_at(pace, limit, &cut);
                        assert_eq!(seen, whole, "{pace:?} {limit} {second} {third} {whole:?}");
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_stream_in_any_chunks_decodes_as_the_standard_says(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40),
        lengths in prop::collection::vec(0_usize..90, 1..20),
        pace in prop::sample::select(&PACES[..]),
    ) {
        let stream = pieces.concat();
        let mut rest = &stream[..];
        let mut chunks = Vec::new();
        for length in lengths {
            let (chunk, after) = rest.split_at(length.min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        chunks.push(rest);

        let seen = decode_at(pace, LARGE, &chunks);

        prop_assert_eq!(seen, by_the_standard(&stream), "{}", stream.escape_ascii());
    }
}

/// The pieces of the property test's streams: mostly line ends and fields, then invalid input.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\r\r",
    b"\r\n\r\n",
    b"data",
    b"data:",
    b"data: ",
    b"\ndata: ",
    b"event: ",
    b"id: ",
    b"\nid: ",
    b"retry: ",
    b"\nretry: 30",
    b":",
    b"\n:",
    b" ",
    b"\0",
    b"7",
    b"message",
    b"\xef",
    b"\xef\xbb",
    b"\xef\xbb\xbf",
    b"\xff",
    "é€💩".as_bytes(),
    b"a line that is long enough to fill a block of sixty-four bytes, and some more after that",
];
