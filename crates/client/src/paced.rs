//! A transport whose large answers arrive at a bounded rate, so that those of one server leave room for others.

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
/// The first 64 KiB of each answer do not count.
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
pub(crate) struct Paced {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) rate: ReadRate,
}

impl Transport for Paced {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let (replying, rate) = (self.transport.perform(request), self.rate.clone());
        Box::pin(async move {
            Ok(match replying.await? {
                Reply::Answered { head, body, capacity } => {
                    let body = Box::new(PacedBody { body, rate, read: 0, pause: None });
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
    /// How many bytes of it were read.
    read: usize,
    /// The wait before more is read.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Body for PacedBody {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let chunk = ready!(self.body.poll_chunk(context));
        if let Some(Ok(bytes)) = &chunk {
            self.read = self.read.saturating_add(bytes.len());
            if self.read > FREE {
                let wait = self.rate.count(bytes.len());
                self.pause = (!wait.is_zero()).then(|| Box::pin(sleep(wait)));
            }
        }
        Poll::Ready(chunk)
    }

    fn wind_down(&mut self) {
        self.body.wind_down();
    }
}

/// So much of each answer does not count.
const FREE: usize = 64 << 10;

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
        let mut body = PacedBody { body, rate: rate.clone(), read: 0, pause: None };
        let mut count = 0;
        while let Some(chunk) = (&mut body as &mut dyn Body).chunk().await {
            chunk.unwrap();
            count += 1;
        }
        assert_eq!(count, pieces);
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
