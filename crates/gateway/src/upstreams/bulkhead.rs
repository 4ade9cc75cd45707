//! How many calls of one server may be under way and wait. Beyond that a call is refused at once, so that a
//! server that hangs fills its own places and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The places of one server.
#[derive(Debug)]
pub(crate) struct Bulkhead {
    places: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    queue: usize,
    most: usize,
}

/// A place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

/// All places are taken, and so is the queue; or nothing became free in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Bulkhead {
    pub(crate) fn new(places: usize, queue: usize) -> Self {
        let (most, places) = (places, Arc::new(Semaphore::new(places)));
        Self { places, waiting: Arc::default(), queue, most }
    }

    /// Returns how many places are taken, and how many calls wait for one.
    pub(crate) fn load(&self) -> (usize, usize) {
        let taken = self.most.saturating_sub(self.places.available_permits());
        (taken, self.waiting.load(Ordering::Relaxed))
    }

    /// Takes a place. If none is free, waits in the queue; if that is full, refuses at once.
    pub(crate) async fn enter(&self) -> Result<Place, Full> {
        if let Ok(permit) = self.places.clone().try_acquire_owned() {
            return Ok(Place { _permit: permit });
        }
        let waiter = Waiter::join(&self.waiting, self.queue).ok_or(Full)?;
        let permit = timeout(LONGEST_WAIT, self.places.clone().acquire_owned()).await;
        drop(waiter);
        let permit = permit.map_err(|_| Full)?.map_err(|_| Full)?;
        Ok(Place { _permit: permit })
    }
}

/// One who waits in the queue.
struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn join(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let join = |count| (count < most).then_some(count + 1);
        waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join).ok()?;
        Some(Self(waiting))
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As long as a call waits for a server that is down.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use futures_util::future::FutureExt;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_one_refuses_at_once_and_a_place_that_is_left_goes_to_who_waits() {
        let bulkhead = Bulkhead::new(1, 1);
        let first = bulkhead.enter().await.unwrap();
        let mut second = Box::pin(bulkhead.enter());
        assert!(second.as_mut().now_or_never().is_none());

        assert_eq!(bulkhead.enter().now_or_never().map(|it| it.is_err()), Some(true));
        drop(first);

        assert!(second.await.is_ok());
        assert!(bulkhead.enter().now_or_never().is_none_or(|it| it.is_ok()), "the queue is empty");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever_and_who_gives_up_leaves_the_queue() {
        let bulkhead = Bulkhead::new(1, 1);
        let _first = bulkhead.enter().await.unwrap();
        let began = Instant::now();

        assert_eq!(bulkhead.enter().await.unwrap_err(), Full);
        assert_eq!(began.elapsed(), LONGEST_WAIT);
        let gave_up = Box::pin(bulkhead.enter());
        drop(gave_up);

        assert!(bulkhead.enter().now_or_never().is_none(), "there is a place in the queue");
    }
}
