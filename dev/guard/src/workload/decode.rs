//! The decoder of event streams: many small events, and one large, in chunks of 16 KB.

use anyhow::{Result, ensure};
use bytes::Bytes;
use ridethrough_wire::sse::{Decoder, Item};

/// Decodes 64 KB of events as servers send them with answers of some hundred bytes.
pub(super) fn small(turns: u64) -> Result<()> {
    let event = format!("event: message\nid: 1234\ndata: {}\n\n", "x".repeat(200));
    decode(turns, &event, (64 << 10) / event.len())
}

/// Decodes one event of 1 MB.
pub(super) fn large(turns: u64) -> Result<()> {
    decode(turns, &format!("event: message\ndata: {}\n\n", "x".repeat(1 << 20)), 1)
}

fn decode(turns: u64, event: &str, events: usize) -> Result<()> {
    let stream = Bytes::from(event.repeat(events));
    let len: usize =
        event.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::len).sum();
    for _ in 0..turns {
        let mut decoder = Decoder::new(4 << 20);
        let mut seen = 0;
        for start in (0..stream.len()).step_by(CHUNK) {
            decoder.feed(stream.slice(start..stream.len().min(start + CHUNK)));
            while let Some(item) = decoder.next_item() {
                let Item::Event(event) = item? else { continue };
                ensure!(event.data.len() == len, "an event came out with another length");
                seen += 1;
            }
        }
        ensure!(seen == events, "{seen} of {events} events came out");
    }
    Ok(())
}

const CHUNK: usize = 16 << 10;
