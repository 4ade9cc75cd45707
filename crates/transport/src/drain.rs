//! Draining: reading the rest of an answer, so that its connection can be used again.
//!
//! The answer has been handed over; an HTTP/1.1 connection can carry the next request only when this answer
//! was read to its end. A server may never end it, so time and bytes are limited. Failures here are ignored:
//! nothing is reconnected, repeated or delivered after an answer.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use ridethrough_core::Failure;

use crate::transport::{Body, Reply};

/// How much may be spent on the rest of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How long it may take.
    pub within: Duration,
    /// How much may be read.
    pub bytes: usize,
}

/// Reads `body` to its end or to the bounds, then drops it.
pub async fn drain(body: Box<dyn Body>, bounds: Bounds) {
    let mut reading = pin!(read(body, bounds.bytes));
    if ends_at_once(reading.as_mut()).await {
        return;
    }
    // When time is up the connection is dropped with the body, and nothing else has to be done.
    let _ = tokio::time::timeout(bounds.within, reading).await;
}

/// Whether the body ends with the bytes that have already arrived. Most often the end of a stream came with
/// the answer, and the connection's task needs one turn to see it: a timer would cost more than that.
async fn ends_at_once(mut reading: Pin<&mut impl Future<Output = ()>>) -> bool {
    let mut turns = 0..2;
    poll_fn(|context| match (reading.as_mut().poll(context), turns.next()) {
        (Poll::Ready(()), _) => Poll::Ready(true),
        (Poll::Pending, None) => Poll::Ready(false),
        (Poll::Pending, Some(_)) => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// Drains an answer whose head has not arrived yet.
pub async fn drain_reply(performing: impl Future<Output = Result<Reply, Failure>>, bounds: Bounds) {
    let reading = async {
        if let Ok(Reply::Answered { body, .. }) = performing.await {
            read(body, bounds.bytes).await;
        }
    };
    // When time is up the connection is dropped with the future, and nothing else has to be done.
    let _ = tokio::time::timeout(bounds.within, reading).await;
}

async fn read(mut body: Box<dyn Body>, bytes: usize) {
    body.wind_down();
    let mut left = bytes;
    while let Some(Ok(chunk)) = body.chunk().await {
        match left.checked_sub(chunk.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Context;

    use bytes::Bytes;
    use ridethrough_core::Cause;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_ends_is_read_to_its_end() {
        let (body, read) = Spring::of(3, Then::End);

        drain(body, BOUNDS).await;

        assert_eq!(read.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_dropped_when_its_time_is_over() {
        let (body, _) = Spring::of(3, Then::Hang);
        let began = Instant::now();

        drain(body, BOUNDS).await;

        assert_eq!(began.elapsed(), BOUNDS.within);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_flows_for_ever_is_dropped_after_so_many_bytes() {
        let (body, read) = Spring::of(usize::MAX, Then::End);

        drain(body, BOUNDS).await;

        assert_eq!(read.load(Ordering::Relaxed), BOUNDS.bytes / CHUNK + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_the_end_of_it() {
        let (body, read) = Spring::of(2, Then::Fail);

        drain(body, BOUNDS).await;

        assert_eq!(read.load(Ordering::Relaxed), 2);
    }

    const BOUNDS: Bounds = Bounds { within: Duration::from_secs(2), bytes: 64 * 1024 };
    const CHUNK: usize = 1024;

    enum Then {
        End,
        Fail,
        Hang,
    }

    struct Spring {
        chunks: usize,
        then: Then,
        read: Arc<AtomicUsize>,
    }

    impl Spring {
        fn of(chunks: usize, then: Then) -> (Box<dyn Body>, Arc<AtomicUsize>) {
            let read = Arc::new(AtomicUsize::new(0));
            (Box::new(Self { chunks, then, read: read.clone() }), read)
        }
    }

    impl Body for Spring {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
            if self.chunks > 0 {
                self.chunks -= 1;
                self.read.fetch_add(1, Ordering::Relaxed);
                return Poll::Ready(Some(Ok(Bytes::from_static(&[0; CHUNK]))));
            }
            match self.then {
                Then::End => Poll::Ready(None),
                Then::Fail => Poll::Ready(Some(Err(Failure::unknown(Cause::Reset)))),
                Then::Hang => Poll::Pending,
            }
        }
    }
}
