//! The decoder of event streams, with its limit, against a bare search for line ends: P11.
//!
//! All take turns over one list of chunks of 16 KB, which are in the cache as they are after a read. The best
//! turn of a round counts, because other load on the machine only adds time.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use memchr::memchr_iter;
use ridethrough_wire::sse::{Decoder, Item};
use sse_core::{SseDecoder, SseEvent};

use crate::cost::number;
use crate::figure::Figure;
use crate::pace::Pace;

/// Measures all figures of the decoder.
pub(crate) fn measure(pace: Pace) -> Result<Vec<Figure>> {
    Ok(vec![
        speed("SSE decoder, answers of 100 bytes", 100, pace)?,
        speed("SSE decoder, answers of 1 KB", 1000, pace)?,
        crumbs(pace)?,
    ])
}

/// Measures how fast events are read, as a ratio to the search.
fn speed(what: &str, len: usize, pace: Pace) -> Result<Figure> {
    let event = event(len);
    let stream = Bytes::from(event.repeat((1 << 20) / event.len()));
    let chunks = cut(&stream, CHUNK);
    let events = stream.len() / event.len();
    ensure!(ours(&chunks)? == events, "an event is lost");
    ensure!(theirs(&chunks)? == events, "an event of sse-core is lost");
    let (mut rounds, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..pace.rounds {
        let mut best = [Duration::MAX; 3];
        for _ in 0..TURNS {
            let times = [
                timed(|| Ok(line_ends(&chunks)))?,
                timed(|| ours(&chunks))?,
                timed(|| theirs(&chunks))?,
            ];
            best = std::array::from_fn(|at| best[at].min(times[at]));
        }
        let [floor, ours, theirs] = best.map(|time| time.as_secs_f64());
        rounds.push(floor / ours);
        beside.push(floor / theirs);
    }
    let figure = Figure::more("P11", what, "x").bars(0.45, 0.7);
    Ok(figure.rounds(rounds).beside("sse-core", beside))
}

/// Measures one large event in tiny pieces against events of a sixty-fourth of its size, per byte: a decoder
/// that looks at all its bytes again for each piece would take sixty-four times as long.
fn crumbs(pace: Pace) -> Result<Figure> {
    let (large, small) = (event(4 << 20), event(64 << 10));
    let small = small.repeat(large.len() / small.len());
    let bytes = [number(large.len() as u64), number(small.len() as u64)];
    let (large, small) = (cut(&Bytes::from(large), CRUMB), cut(&Bytes::from(small), CRUMB));
    let mut rounds = Vec::new();
    for _ in 0..pace.rounds {
        let mut best = [Duration::MAX; 2];
        for _ in 0..TURNS / 8 {
            let times = [timed(|| ours(&large))?, timed(|| ours(&small))?];
            best = std::array::from_fn(|at| best[at].min(times[at]));
        }
        let [large, small] = best.map(|time| time.as_secs_f64());
        rounds.push((large / bytes[0]) / (small / bytes[1]));
    }
    let what = "SSE decoder, a byte of a 4 MB event against one of 64 KB, 64-byte chunks";
    Ok(Figure::less("P11", what, "x").bars(4.0, 4.0).rounds(rounds))
}

/// Returns the answer to an echo of this many bytes, as servers write it.
fn event(len: usize) -> String {
    let text = "x".repeat(len);
    format!(
        "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n\n"
    )
}

fn cut(stream: &Bytes, len: usize) -> Vec<Bytes> {
    let starts = (0..stream.len()).step_by(len);
    starts.map(|start| stream.slice(start..stream.len().min(start + len))).collect()
}

fn timed(work: impl FnOnce() -> Result<usize>) -> Result<Duration> {
    let began = Instant::now();
    black_box(work()?);
    Ok(began.elapsed())
}

/// Searches for line ends, and does nothing else: the floor.
fn line_ends(chunks: &[Bytes]) -> usize {
    let mut lines = 0;
    for end in chunks.iter().flat_map(|chunk| memchr_iter(b'\n', chunk)) {
        black_box(end);
        lines += 1;
    }
    lines
}

fn ours(chunks: &[Bytes]) -> Result<usize> {
    let mut decoder = Decoder::new(LIMIT);
    let mut events = 0;
    for chunk in chunks {
        decoder.feed(chunk.clone());
        while let Some(item) = decoder.next_item() {
            if let Item::Event(event) = item? {
                black_box(&event.data);
                events += 1;
            }
        }
    }
    Ok(events)
}

fn theirs(chunks: &[Bytes]) -> Result<usize> {
    let limit = NonZeroUsize::new(LIMIT).context("the limit is not zero")?;
    let mut decoder = SseDecoder::with_limit(limit);
    let mut events = 0;
    for chunk in chunks {
        let mut chunk = chunk.clone();
        while let Some(event) = decoder.next(&mut chunk) {
            if let SseEvent::Message(event) = event.context("sse-core refuses an event")? {
                black_box(&event.data);
                events += 1;
            }
        }
    }
    Ok(events)
}

const CHUNK: usize = 16 << 10;
const CRUMB: usize = 64;
const LIMIT: usize = 8 << 20;
/// The turns of each in each round.
const TURNS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_decoders_find_every_event_in_any_chunks() {
        let stream = Bytes::from(event(100).repeat(50));

        for len in [1, 64, 1000, CHUNK] {
            let chunks = cut(&stream, len);
            assert_eq!((ours(&chunks).unwrap(), theirs(&chunks).unwrap()), (50, 50));
            assert_eq!(line_ends(&chunks), 150);
        }
    }
}
