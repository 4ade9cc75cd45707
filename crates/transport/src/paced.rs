//! A transport whose large answers arrive at a bounded rate, so that those of one server leave room for others.
//!
//! A stream of small events takes more time than its bytes do, so that each of its lines counts as many bytes more.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ridethrough_core::Failure;
use ridethrough_core::byte_rate::ByteRate;
use tokio::time::{Sleep, sleep};

use crate::clock::Clock;
use crate::transport::{Body, Reply, Transport, TransportRequest};

/// A rate at which clients together read large answers. Clones share it.
///
/// About the first 64 KiB of each answer do not count. Each line of an event stream counts as 8 KiB more than it has: with
/// 128 MiB a second, 5,000 to 8,000 small events are read in a second.
#[derive(Clone, Debug)]
pub struct ReadRate(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    rate: Mutex<ByteRate>,
    clock: Clock,
}

impl ReadRate {
    /// Creates a rate. So many bytes may be read at once after a pause.
    pub fn new(bytes_per_second: usize, burst: usize) -> Self {
        let rate = Mutex::new(ByteRate::new(bytes_per_second, burst));
        Self(Arc::new(Shared { rate, clock: Clock::start() }))
    }

    fn count(&self, bytes: usize) -> Duration {
        let now = self.0.clock.now();
        self.0.rate.lock().unwrap_or_else(PoisonError::into_inner).count(now, bytes)
    }
}

/// A transport that reads answers at a rate.
pub struct Paced {
    /// What performs the requests.
    pub transport: Arc<dyn Transport>,
    /// The rate at which their bodies are read.
    pub rate: ReadRate,
}

impl Transport for Paced {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let (replying, rate) = (self.transport.perform(request), self.rate.clone());
        Box::pin(async move {
            Ok(match replying.await? {
                Reply::Answered { head, body, capacity } => {
                    let body = Box::new(PacedBody::new(body, rate, head.is_stream()));
                    Reply::Answered { head, body, capacity }
                }
                Reply::Connected => Reply::Connected,
            })
        })
    }

    fn speaks_http(&self) -> bool {
        self.transport.speaks_http()
    }
}

struct PacedBody {
    body: Box<dyn Body>,
    rate: ReadRate,
    /// Whether it is a stream of events, whose lines count.
    is_stream: bool,
    /// What of it has counted, with its lines.
    read: usize,
    /// What was read and not yet given away.
    rest: Bytes,
    /// The wait before more is read.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Body for PacedBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        if self.rest.is_empty() {
            match ready!(self.body.poll_chunk(context)) {
                Some(Ok(chunk)) => self.rest = chunk,
                other => return Poll::Ready(other),
            }
        }
        let (piece, cost) = self.next_piece();
        self.read = self.read.saturating_add(cost);
        if self.read > FREE {
            let wait = self.rate.count(cost);
            self.pause = (!wait.is_zero()).then(|| Box::pin(sleep(wait)));
        }
        Poll::Ready(Some(Ok(piece)))
    }

    fn wind_down(&mut self) {
        self.body.wind_down();
    }
}

impl PacedBody {
    fn new(body: Box<dyn Body>, rate: ReadRate, is_stream: bool) -> Self {
        Self { body, rate, is_stream, read: 0, rest: Bytes::new(), pause: None }
    }

    /// Takes what is given away next, and returns as how many bytes it counts. Of a stream it is a few lines, so that
    /// others have their turn between them.
    fn next_piece(&mut self) -> (Bytes, usize) {
        if !self.is_stream {
            let piece = std::mem::take(&mut self.rest);
            let cost = piece.len();
            return (piece, cost);
        }
        let mut lines = 0;
        let ends = line_ends(&self.rest).take(LINES_AT_ONCE);
        let last = ends.inspect(|_| lines += 1).last();
        let end = last.filter(|_| lines == LINES_AT_ONCE).map_or(self.rest.len(), |at| at + 1);
        let piece = self.rest.split_to(end);
        let cost = piece.len() + lines * LINE_COST;
        (piece, cost)
    }
}

/// Returns the places at which lines end: by LF, CR, or both together.
fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let is_end = |at: &usize| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n');
    memchr::memchr2_iter(b'\n', b'\r', bytes).filter(is_end)
}

/// So much of each answer does not count.
const FREE: usize = 64 << 10;
/// What an event costs beyond its bytes, to be read, understood and passed on, in the time that bytes take.
const LINE_COST: usize = 8 << 10;
const LINES_AT_ONCE: usize = 16;

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn large_answers_share_the_rate_and_small_ones_do_not_wait() {
        let rate = ReadRate::new(1 << 20, 0);
        let began = Instant::now();

        let (large, other) = (read(&rate, 16), read(&rate, 16));
        let ((), ()) = tokio::join!(large, other);
        // All but the last pieces are waited for.
        assert!(began.elapsed() >= Duration::from_millis(1_750), "{:?}", began.elapsed());

        let began = Instant::now();
        let beside = tokio::spawn({
            let rate = rate.clone();
            async move { read(&rate, 16).await }
        });
        for _ in 0..100 {
            read(&rate, 1).await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        beside.await.unwrap();
        assert!(began.elapsed() > Duration::from_millis(900), "{:?}", began.elapsed());
    }

    /// Reads an answer of so many pieces of 64 KiB.
    async fn read(rate: &ReadRate, pieces: usize) {
        let body = Box::new(Pieces(pieces));
        let mut body = PacedBody::new(body, rate.clone(), false);
        let mut count = 0;
        while let Some(chunk) = (&mut body as &mut dyn Body).chunk().await {
            chunk.unwrap();
            count += 1;
        }
        assert_eq!(count, pieces);
    }

    #[tokio::test(start_paused = true)]
    async fn small_events_are_read_at_a_rate_of_their_own() {
        let (rate, began) = (ReadRate::new(1 << 20, 0), Instant::now());
        // The last has no end yet.
        let chunks = vec![Bytes::from("data: {}\n\n".repeat(50) + "data: "); 4];
        let mut body = PacedBody::new(Box::new(Chunks(chunks)), rate, true);

        let (mut all, mut longest) = (0, 0);
        while let Some(chunk) = (&mut body as &mut dyn Body).chunk().await {
            let chunk = chunk.unwrap();
            all += chunk.len();
            longest = longest.max(chunk.len());
        }

        assert_eq!((all, longest), (4 * 506, 8 * 10));
        // 200 events of two lines, at 128 lines a second; their bytes alone would be read in 2 ms.
        let took = began.elapsed();
        assert!((3_120..=3_200).contains(&took.as_millis()), "{took:?}");
    }

    #[test]
    fn a_line_ends_once_however_it_is_ended() {
        let ends = |text: &str| line_ends(text.as_bytes()).collect::<Vec<_>>();

        assert_eq!(ends("a\n\nb\n"), [1, 2, 4]);
        assert_eq!(ends("a\r\rb\r"), [1, 2, 4]);
        assert_eq!(ends("a\r\n\r\nb"), [2, 4]);
        assert_eq!(ends("a"), [0; 0]);
    }

    struct Chunks(Vec<Bytes>);

    impl Body for Chunks {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
            Poll::Ready(self.0.pop().map(Ok))
        }
    }

    struct Pieces(usize);

    impl Body for Pieces {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
            Poll::Ready((self.0 > 0).then(|| {
                self.0 -= 1;
                Ok(Bytes::from_static(&[b' '; 64 << 10]))
            }))
        }
    }
}
