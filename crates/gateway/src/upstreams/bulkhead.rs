//! How many calls of one server may be under way and wait. Beyond that a call is refused at once, so that a
//! server that hangs fills its own places and nothing else.
//!
//! ```text
//!   queue ──▶ place ──a question of the server──▶ aside ──the answer──▶ queue ──▶ place
//! ```
//! A call whose server waits for a person works on nothing, and the person may take an hour. It steps aside, and
//! others have its place. Calls that stand aside have a bound of their own; beyond it a call keeps its place.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    aside: Arc<Semaphore>,
}

/// A place of a call; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Semaphore>,
    aside: Arc<Semaphore>,
    held: Mutex<Held>,
}

/// What a call holds: a place, or a place aside.
#[derive(Debug)]
struct Held {
    place: Option<OwnedSemaphorePermit>,
    aside: Option<OwnedSemaphorePermit>,
    /// How many questions of the call have no answer.
    questions: usize,
}

/// A place for somebody who waits for a person; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct PlaceAside {
    _permit: OwnedSemaphorePermit,
}

/// How many calls there are at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// How many places are taken.
    pub(crate) in_flight: usize,
    /// How many calls wait for a place.
    pub(crate) queued: usize,
    /// How many calls wait for a person.
    pub(crate) aside: usize,
}

/// All places are taken, and so is the queue; or nothing became free in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Bulkhead {
    pub(crate) fn new(places: usize, queue: usize) -> Self {
        let (most, places) = (places, Arc::new(Semaphore::new(places)));
        let aside = Arc::new(Semaphore::new(MOST_ASIDE));
        Self { places, waiting: Arc::default(), queue, most, aside }
    }

    /// Returns how many calls there are.
    pub(crate) fn load(&self) -> Load {
        Load {
            in_flight: self.most.saturating_sub(self.places.available_permits()),
            queued: self.waiting.load(Ordering::Relaxed),
            aside: MOST_ASIDE.saturating_sub(self.aside.available_permits()),
        }
    }

    /// Takes a place. If none is free, waits in the queue; if that is full, refuses at once.
    pub(crate) async fn enter(&self) -> Result<Place, Full> {
        if let Ok(permit) = self.places.clone().try_acquire_owned() {
            return Ok(self.place(permit));
        }
        let waiter = Waiter::join(&self.waiting, self.queue).ok_or(Full)?;
        let permit = timeout(LONGEST_WAIT, self.places.clone().acquire_owned()).await;
        drop(waiter);
        let permit = permit.map_err(|_| Full)?.map_err(|_| Full)?;
        Ok(self.place(permit))
    }

    /// Takes a place for somebody who waits for a person and has no call under way; `None` if too many do.
    pub(crate) fn stand_aside(&self) -> Option<PlaceAside> {
        let permit = self.aside.clone().try_acquire_owned().ok()?;
        Some(PlaceAside { _permit: permit })
    }

    fn place(&self, permit: OwnedSemaphorePermit) -> Place {
        let held = Held { place: Some(permit), aside: None, questions: 0 };
        Place { places: self.places.clone(), aside: self.aside.clone(), held: Mutex::new(held) }
    }
}

impl Place {
    /// The caller was asked a question: the call steps aside, if not too many do.
    pub(crate) fn question_asked(&self) {
        let mut held = self.held();
        held.questions += 1;
        if held.place.is_some()
            && let Ok(aside) = self.aside.clone().try_acquire_owned()
        {
            held.aside = Some(aside);
            held.place = None;
        }
    }

    /// A question was answered, or withdrawn. If it was the last one, waits for a place, in the order of all who
    /// wait. There is no bound on that: the answer of a person must not be lost.
    pub(crate) async fn question_answered(&self) {
        {
            let mut held = self.held();
            held.questions = held.questions.saturating_sub(1);
            if held.questions > 0 || held.place.is_some() {
                return;
            }
        }
        // It is never closed.
        let Ok(place) = self.places.clone().acquire_owned().await else { return };
        let mut held = self.held();
        // Another question may have come meanwhile.
        if held.questions == 0 {
            held.place = Some(place);
            held.aside = None;
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
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
/// How many calls of a server may wait for people: each is a call that the gateway holds in memory.
const MOST_ASIDE: usize = 256;

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

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_a_person_leaves_its_place_to_others() {
        let bulkhead = Bulkhead::new(1, 0);
        let asking = bulkhead.enter().await.unwrap();
        assert!(bulkhead.enter().await.is_err());

        asking.question_asked();

        let other = bulkhead.enter().await.unwrap();
        assert_eq!(bulkhead.load(), Load { in_flight: 1, queued: 0, aside: 1 });
        let mut back = Box::pin(asking.question_answered());
        assert!(back.as_mut().now_or_never().is_none(), "there is no place");
        drop(other);
        back.await;
        assert_eq!(bulkhead.load(), Load { in_flight: 1, queued: 0, aside: 0 });
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_wait_for_people_are_bounded_and_further_ones_keep_their_places() {
        let bulkhead = Bulkhead::new(MOST_ASIDE + 2, 0);
        let mut calls = Vec::new();
        for _ in 0..MOST_ASIDE + 2 {
            let call = bulkhead.enter().await.unwrap();
            call.question_asked();
            calls.push(call);
        }

        assert_eq!(bulkhead.load(), Load { in_flight: 2, queued: 0, aside: MOST_ASIDE });
        assert!(bulkhead.stand_aside().is_none());
        drop(calls);

        assert_eq!(bulkhead.load(), Load { in_flight: 0, queued: 0, aside: 0 });
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_with_two_questions_has_its_place_again_after_the_last_answer() {
        let bulkhead = Bulkhead::new(1, 0);
        let call = bulkhead.enter().await.unwrap();
        call.question_asked();
        call.question_asked();

        call.question_answered().await;
        assert_eq!(bulkhead.load().in_flight, 0);
        call.question_answered().await;

        assert_eq!(bulkhead.load().in_flight, 1);
    }
}
