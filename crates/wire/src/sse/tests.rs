//! The rules of the decoder, one by one.

use std::time::Duration;

use bytes::Bytes;

use super::{Decoder, EventId, Item, SseEvent, TooLarge};
use seen::{Fields, LARGE, Seen, data, decode, decode_chunks, next, retry};

mod chunks;
mod seen;
mod standard;

#[test]
fn a_blank_line_ends_an_event() {
    assert_eq!(decode(b"data: a\n\ndata: b\n\n"), [data("a"), data("b")]);
}

#[test]
fn data_lines_are_joined_by_lf() {
    assert_eq!(decode(b"data: a\ndata: b\ndata: c\n\n"), [data("a\nb\nc")]);
    assert_eq!(decode(b"data\ndata\n\n"), [data("\n")]);
    assert_eq!(decode(b"data: a\ndata\n\n"), [data("a\n")]);
}

#[test]
fn lf_cr_and_crlf_all_end_a_line() {
    assert_eq!(decode(b"data: a\rdata: b\ndata: c\r\n\n"), [data("a\nb\nc")]);
    assert_eq!(decode(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n"), [data("a"), data("b"), data("c")]);
    assert_eq!(decode(b"data: a\n\rdata: b\r\n\r"), [data("a"), data("b")]);
}

#[test]
fn an_event_ended_by_two_crs_is_reported_without_waiting_for_another_byte() {
    let mut decoder = Decoder::new(LARGE);

    decoder.feed(Bytes::from_static(b"data: a\r\r"));

    assert_eq!(next(&mut decoder), Some(data("a")));
}

#[test]
fn an_lf_at_the_start_of_a_chunk_belongs_to_the_cr_before_it() {
    let joined = decode_chunks(LARGE, &[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\ndata: c\n\n"]);

    assert_eq!(joined, [data("a\nb"), data("c")]);
}

#[test]
fn one_leading_byte_order_mark_is_stripped() {
    assert_eq!(decode(b"\xef\xbb\xbfdata: a\n\n"), [data("a")]);
    assert_eq!(decode(b"\xef\xbb\xbf: hello\n"), [Seen::Comment]);
    assert_eq!(decode_chunks(LARGE, &[b"\xef", b"\xbb", b"\xbf", b"data: a\n\n"]), [data("a")]);
}

#[test]
fn any_other_byte_order_mark_is_part_of_a_name() {
    assert_eq!(decode(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n"), []);
    assert_eq!(decode(b"\n\xef\xbb\xbfdata: a\n\n"), []);
}

#[test]
fn what_only_begins_like_a_byte_order_mark_is_part_of_a_name() {
    assert_eq!(decode(b"\xef\xbbdata: a\n\ndata: b\n\n"), [data("b")]);
    assert_eq!(decode(b"\xef\ndata: b\n\n"), [data("b")]);
    assert_eq!(decode_chunks(LARGE, &[b"\xef", b":a\ndata: b\n\n"]), [data("b")]);
}

#[test]
fn a_comment_is_reported_and_leaves_the_block_around_it_alone() {
    let seen = decode(b": hello\n:\ndata: a\n: data: b\ndata: c\n\n");

    assert_eq!(seen, [Seen::Comment, Seen::Comment, Seen::Comment, data("a\nc")]);
}

#[test]
fn only_one_space_after_the_colon_is_dropped() {
    assert_eq!(decode(b"data:a\n\ndata: a\n\ndata:  a\n\n"), [data("a"), data("a"), data(" a")]);
    assert_eq!(decode(b"data:\ta\n\ndata::a\n\ndata: \n\n"), [data("\ta"), data(":a"), data("")]);
}

#[test]
fn a_field_without_a_colon_has_an_empty_value() {
    assert_eq!(decode(b"data\n\n"), [data("")]);
    assert_eq!(decode(b"event: a\nevent\ndata: b\n\n"), [data("b")]);
    assert_eq!(
        decode(b"id\n\n"),
        [Seen::Event(Fields { id: Some(String::new()), ..Fields::default() })]
    );
}

#[test]
fn the_last_event_field_gives_the_kind_unless_it_is_empty() {
    let named =
        Seen::Event(Fields { kind: Some("b".into()), data: "x".into(), ..Fields::default() });

    assert_eq!(decode(b"event: a\nevent: b\ndata: x\n\ndata: y\n\n"), [named, data("y")]);
    assert_eq!(decode(b"event: a\nevent:\ndata: x\n\n"), [data("x")]);
}

#[test]
fn the_kind_message_is_no_kind_wherever_its_line_is_cut() {
    let stream =
        b"event: a\nevent: message\ndata: x\n\nevent: message\ndata: y\n\nevent: message\n\n";

    for at in 0..stream.len() {
        let seen = decode_chunks(LARGE, &[&stream[..at], &stream[at..]]);
        assert_eq!(seen, [data("x"), data("y"), data("")], "cut at {at}");
    }
    assert_eq!(decode(b"event: message\revent: b\r\n\n"), decode(b"event: b\n\n"));
}

#[test]
fn a_line_that_only_begins_like_the_kind_message_is_read_to_its_end() {
    let named = |kind: &str| {
        let kind = Some(kind.into());
        Seen::Event(Fields { kind, data: "x".into(), ..Fields::default() })
    };

    assert_eq!(decode(b"event: messages\ndata: x\n\n"), [named("messages")]);
    assert_eq!(decode(b"event: message \ndata: x\n\n"), [named("message ")]);
}

#[test]
fn the_last_line_of_data_is_joined_to_those_before_it() {
    assert_eq!(decode(b"data: a\ndata: b\n\ndata: c\n\n"), [data("a\nb"), data("c")]);
    assert_eq!(decode_chunks(LARGE, &[b"data: a\n", b"data: b\n\n"]), [data("a\nb")]);
    assert_eq!(decode_chunks(LARGE, &[b"data: a", b"data: b\n\n"]), [data("adata: b")]);
}

#[test]
fn only_an_event_of_no_kind_or_of_the_kind_message_is_a_message() {
    let event = |kind: Option<&str>| SseEvent {
        kind: kind.map(Into::into),
        data: Bytes::new(),
        id: None,
        retry: None,
    };

    assert!(event(None).is_message());
    assert!(event(Some("message")).is_message());
    assert!(!event(Some("endpoint")).is_message());
    assert!(!event(Some("Message")).is_message());
}

#[test]
fn unknown_fields_are_ignored() {
    let stream =
        b"Data: a\n data: b\ndatas: c\ndat: d\ndata : e\nfoo\nids: 1\nretryx: 5\ndata: f\n\n";

    assert_eq!(decode(stream), [data("f")]);
}

#[test]
fn an_id_is_reported_with_its_own_block_only() {
    let first = Seen::Event(Fields { id: Some("7".into()), data: "a".into(), ..Fields::default() });

    assert_eq!(decode(b"id: 6\nid: 7\ndata: a\n\ndata: b\n\n"), [first, data("b")]);
}

#[test]
fn an_id_with_a_nul_in_it_is_ignored() {
    let kept = Seen::Event(Fields { id: Some("7".into()), data: "a".into(), ..Fields::default() });

    assert_eq!(decode(b"id: 7\nid: 8\x00\ndata: a\n\n"), [kept]);
    assert_eq!(decode(b"id: \x00\n\n"), []);
}

#[test]
fn an_empty_id_is_reported_as_a_reset() {
    let reset = Seen::Event(Fields { id: Some(String::new()), ..Fields::default() });

    assert_eq!(decode(b"id:\n\nid: \n\nid: 7\nid\n\n"), [reset.clone(), reset.clone(), reset]);
}

#[test]
fn retry_takes_ascii_digits_only() {
    assert_eq!(decode(b"retry: 1500\n\nretry:007\n\n"), [retry(1500), retry(7)]);
    assert_eq!(decode(b"retry: 5\nretry: 5s\nretry: \nretry\n\n"), [retry(5)]);
    for value in ["", " 5", "+5", "-5", "5.0", "5 ", "0x5", "\u{0665}"] {
        assert_eq!(decode(format!("retry: {value}\n\n").as_bytes()), [], "for {value:?}");
    }
}

#[test]
fn retry_is_reported_with_its_own_block_only() {
    assert_eq!(decode(b"retry: 4\nretry: 5\n\ndata: a\n\n"), [retry(5), data("a")]);
}

#[test]
fn retry_saturates_instead_of_overflowing() {
    assert_eq!(decode(b"retry: 18446744073709551615\n\n"), [retry(u64::MAX)]);
    assert_eq!(decode(b"retry: 18446744073709551616\n\n"), [retry(u64::MAX)]);
    assert_eq!(decode(b"retry: 184467440737095516150\n\n"), [retry(u64::MAX)]);
    assert_eq!(decode(format!("retry: {}\n\n", "9".repeat(500)).as_bytes()), [retry(u64::MAX)]);
}

#[test]
fn an_id_and_a_retry_without_data_are_an_event_with_empty_data() {
    let priming = Seen::Event(Fields {
        id: Some("7".into()),
        retry: Some(Duration::from_millis(5)),
        ..Fields::default()
    });

    assert_eq!(decode(b"id: 7\nretry: 5\n\n"), [priming]);
}

#[test]
fn a_block_of_ignored_lines_yields_nothing() {
    assert_eq!(decode(b"\n\nfoo: a\n\nretry: x\n\nid: \x00\n\n\n"), []);
}

#[test]
fn an_unterminated_block_is_never_reported() {
    assert_eq!(decode(b"data: a\n\nid: 7\ndata: b\n"), [data("a")]);
    assert_eq!(decode(b"data: a\n\nid: 7\ndata: b"), [data("a")]);
}

#[test]
fn bad_utf8_is_replaced_in_data_id_and_kind() {
    let repaired = Seen::Event(Fields {
        kind: Some("k\u{fffd}".into()),
        data: "\u{fffd}a\n\u{fffd}\u{fffd}\u{fffd}b".into(),
        id: Some("\u{fffd}1".into()),
        retry: None,
    });

    let stream = b"event: k\xff\nid: \xe2\x821\ndata: \xf0\x9f\x92a\ndata: \xed\xa0\x80b\n\n";

    assert_eq!(decode(stream), [repaired]);
}

#[test]
fn bad_utf8_is_found_wherever_it_is_in_a_long_line() {
    for at in 0..300 {
        let mut line = [b'x'; 300];
        line[at] = 0xff;
        let repaired = format!("{}\u{fffd}{}", "x".repeat(at), "x".repeat(299 - at));

        let stream = [b"data: ", &line[..], b"\n\n"].concat();

        assert_eq!(decode(&stream), [data(&repaired)]);
        assert_eq!(decode_chunks(LARGE, &[&stream[..100], &stream[100..]]), [data(&repaired)]);
    }
}

#[test]
fn a_character_that_is_cut_by_a_chunk_survives() {
    let stream = "data: 💩é\n\n".as_bytes();

    for at in 0..stream.len() {
        assert_eq!(decode_chunks(LARGE, &[&stream[..at], &stream[at..]]), [data("💩é")]);
    }
}

#[test]
fn a_block_may_fill_the_limit_but_not_exceed_it() {
    let block: &[u8] = b"foo\ndata: a\r\ndata: b\n\n";

    assert_eq!(decode_chunks(17, &[block]), [data("a\nb")]);
    assert_eq!(decode_chunks(16, &[block]), [Seen::TooLarge]);
    assert_eq!(decode_chunks(5, &[b"\xef\xbb\xbfevent\n"]), []);
    assert_eq!(decode_chunks(5, &[b"\xef\xbbevent\n"]), [Seen::TooLarge]);
}

#[test]
fn a_line_of_the_kind_message_counts_against_the_limit() {
    assert_eq!(decode_chunks(21, &[b"event: message\ndata: a\n\n"]), [data("a")]);
    assert_eq!(decode_chunks(20, &[b"event: message\ndata: a\n\n"]), [Seen::TooLarge]);
    assert_eq!(decode_chunks(13, &[b"event: message\n"]), [Seen::TooLarge]);
    assert_eq!(decode_chunks(27, &[&b"event: message\n".repeat(2)]), [Seen::TooLarge]);
}

#[test]
fn the_limit_is_for_each_block_and_not_for_the_stream() {
    assert_eq!(decode_chunks(7, &[b"data: a\n\ndata: b\n\n"]), [data("a"), data("b")]);
}

#[test]
fn an_unfinished_line_counts_against_the_limit() {
    let mut decoder = Decoder::new(10);

    decoder.feed(Bytes::from_static(b"data: "));
    decoder.feed(Bytes::from_static(b"1234"));
    assert_eq!(next(&mut decoder), None);
    decoder.feed(Bytes::from_static(b"5"));

    assert_eq!(decoder.next_item(), Some(Err(TooLarge { limit: 10 })));
}

#[test]
fn empty_data_lines_count_against_the_limit() {
    assert_eq!(decode_chunks(40, &[&b"data\n".repeat(10)]), []);
    assert_eq!(decode_chunks(40, &[&b"data\n".repeat(11)]), [Seen::TooLarge]);
}

#[test]
fn comments_never_count_against_the_limit() {
    let long = [b": ", &[b'x'; 1000][..]].concat();

    let seen = decode_chunks(7, &[b"data: ", b"a\n", &long, &long, b"\n", &long, b"\n\n"]);

    assert_eq!(seen, [Seen::Comment, Seen::Comment, data("a")]);
}

#[test]
fn a_decoder_that_met_too_large_a_block_is_spent_and_holds_nothing() {
    let chunk = Bytes::from(b"data: a\n\ndata: 12345\n\ndata: b\n\n".to_vec());
    let mut decoder = Decoder::new(8);
    decoder.feed(chunk.clone());

    assert_eq!(next(&mut decoder), Some(data("a")));
    assert_eq!(next(&mut decoder), Some(Seen::TooLarge));

    assert_eq!(next(&mut decoder), None);
    decoder.feed(chunk.clone());
    assert_eq!(next(&mut decoder), None);
    assert!(chunk.is_unique());
}

#[test]
fn a_data_line_that_lies_in_one_chunk_is_not_copied() {
    let chunk = Bytes::from(b"id: 7\ndata: hello\n\n".to_vec());
    let place = chunk.as_ptr_range();
    let mut decoder = Decoder::new(LARGE);

    decoder.feed(chunk);
    let Some(Ok(Item::Event(event))) = decoder.next_item() else { unreachable!() };

    assert_eq!(event.data, "hello");
    assert!(place.contains(&event.data.as_ptr()));
}

#[test]
fn a_data_line_is_not_copied_either_if_its_block_ends_in_a_later_chunk() {
    let chunk = Bytes::from(b"data: hello\n".to_vec());
    let place = chunk.as_ptr_range();
    let mut decoder = Decoder::new(LARGE);

    decoder.feed(chunk);
    assert_eq!(next(&mut decoder), None);
    decoder.feed(Bytes::from_static(b": and now\n\n"));
    assert_eq!(next(&mut decoder), Some(Seen::Comment));
    let Some(Ok(Item::Event(event))) = decoder.next_item() else { unreachable!() };

    assert_eq!(event.data, "hello");
    assert!(place.contains(&event.data.as_ptr()));
}

#[test]
fn a_drained_decoder_holds_no_chunk_that_it_does_not_need() {
    let chunk = Bytes::from(b"id: 7\ndata: a\n\nid: 8\ndata: b\ndata: c\n: d\ndata: e".to_vec());
    let mut decoder = Decoder::new(LARGE);

    decoder.feed(chunk.clone());
    while decoder.next_item().is_some() {}

    assert!(chunk.is_unique());
}

#[test]
fn neither_ids_nor_data_show_in_debug_output() {
    let mut decoder = Decoder::new(LARGE);
    decoder.feed(Bytes::from_static(b"id: secret\ndata: secret\n\ndata: secret"));

    let item = decoder.next_item();

    assert!(!format!("{item:?} {decoder:?}").contains("secret"));
    assert_eq!(format!("{:?}", EventId::from("secret")), "EventId(<6 bytes>)");
}

// Quadratic work would be several thousand times slower here, and linear work only a few times, because of
// the cost of each chunk: the bound is far from both, and one good try is enough.
#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only a clock sees every kind of wasted work; a counter sees what it was put beside"
)]
fn a_large_event_in_tiny_chunks_takes_time_linear_in_its_size() {
    let stream = Bytes::from([b"data: ", &vec![b'x'; 4 << 20][..], b"\n\n"].concat());
    let time_in_chunks_of = |len: usize| {
        let mut decoder = Decoder::new(stream.len());
        let begin = std::time::Instant::now();
        for start in (0..stream.len()).step_by(len) {
            assert_eq!(decoder.next_item(), None);
            decoder.feed(stream.slice(start..stream.len().min(start + len)));
        }
        assert!(matches!(decoder.next_item(), Some(Ok(Item::Event(event))) if event.is_message()));
        begin.elapsed()
    };

    let is_linear = || time_in_chunks_of(64) < 100 * time_in_chunks_of(16 << 10);

    assert!((0..5).any(|_| is_linear()));
}
