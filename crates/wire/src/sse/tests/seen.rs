//! The items of a decoder, in a form that a failed assertion can show.

use std::time::Duration;

use bytes::Bytes;

use crate::sse::{Decoder, Item, TooLarge};

/// How feeding chunks and taking items alternate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Every item is taken before the next chunk is fed.
    Drained,
    /// Everything is fed before any item is taken.
    Flooded,
    /// At most one item is taken after each chunk.
    Lagging,
}

pub(super) const PACES: [Pace; 3] = [Pace::Drained, Pace::Flooded, Pace::Lagging];

/// An item in a form that a failed assertion can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Comment,
    Event(Fields),
    TooLarge,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) kind: Option<String>,
    pub(super) data: String,
    pub(super) id: Option<String>,
    pub(super) retry: Option<Duration>,
}

pub(super) const LARGE: usize = 1 << 20;

pub(super) fn decode(stream: &[u8]) -> Vec<Seen> {
    decode_chunks(LARGE, &[stream])
}

pub(super) fn decode_chunks(limit: usize, chunks: &[&[u8]]) -> Vec<Seen> {
    decode_at(Pace::Drained, limit, chunks)
}

pub(super) fn decode_at(pace: Pace, limit: usize, chunks: &[&[u8]]) -> Vec<Seen> {
    let mut decoder = Decoder::new(limit);
    let mut seen = Vec::new();
    for chunk in chunks {
        decoder.feed(Bytes::copy_from_slice(chunk));
        match pace {
            Pace::Drained => seen.extend(std::iter::from_fn(|| next(&mut decoder))),
            Pace::Flooded => {}
            Pace::Lagging => seen.extend(next(&mut decoder)),
        }
    }
    seen.extend(std::iter::from_fn(|| next(&mut decoder)));
    seen
}

pub(super) fn next(decoder: &mut Decoder) -> Option<Seen> {
    Some(match decoder.next_item()? {
        Ok(Item::Comment) => Seen::Comment,
        Ok(Item::Event(event)) => Seen::Event(Fields {
            kind: event.kind.map(String::from),
            data: String::from_utf8(event.data.into()).expect("data is always UTF-8"),
            id: event.id.map(|id| id.as_str().to_owned()),
            retry: event.retry,
        }),
        Err(TooLarge { .. }) => Seen::TooLarge,
    })
}

pub(super) fn data(text: &str) -> Seen {
    Seen::Event(Fields { data: text.into(), ..Fields::default() })
}

pub(super) fn retry(millis: u64) -> Seen {
    Seen::Event(Fields { retry: Some(Duration::from_millis(millis)), ..Fields::default() })
}
