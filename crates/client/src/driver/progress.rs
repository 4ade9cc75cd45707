//! Progress on its way from the driver to the call that asked for it.
//!
//! Late progress is worth little: if the caller is slow, the oldest is dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ridethrough_wire::message::Json;

/// The driver's end of the queue. Dropping it ends the reader's.
pub(crate) struct Reporter(Arc<Mutex<ProgressState>>);

/// The reader's end of the queue.
pub(crate) struct ProgressReader(Arc<Mutex<ProgressState>>);

#[derive(Default)]
struct ProgressState {
    unseen: VecDeque<Json>,
    bytes: usize,
    reader: Option<Waker>,
    has_ended: bool,
}

pub(crate) fn progress() -> (Reporter, ProgressReader) {
    let state = Arc::<Mutex<ProgressState>>::default();
    (Reporter(state.clone()), ProgressReader(state))
}

impl Reporter {
    pub(super) fn push(&self, params: Json) {
        let mut state = lock(&self.0);
        state.bytes += size(&params);
        state.unseen.push_back(params);
        // The newest is kept whatever its size, which is limited by that of a message.
        while state.unseen.len() > KEPT || (state.bytes > KEPT_BYTES && state.unseen.len() > 1) {
            state.pop();
        }
        state.wake();
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.has_ended = true;
        state.wake();
    }
}

impl ProgressReader {
    /// Polls for the oldest progress that was not read; `None` when there will be no more.
    pub(crate) fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Json>> {
        let mut state = lock(&self.0);
        match state.pop() {
            Some(step) => Poll::Ready(Some(step)),
            None if state.has_ended => Poll::Ready(None),
            None => {
                state.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock(state: &Mutex<ProgressState>) -> MutexGuard<'_, ProgressState> {
    // No code panics while it holds the lock.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProgressState {
    fn pop(&mut self) -> Option<Json> {
        let oldest = self.unseen.pop_front()?;
        self.bytes -= size(&oldest);
        Some(oldest)
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

fn size(params: &Json) -> usize {
    params.as_bytes().len()
}

/// How many progress values are kept: more than a person can look at; a caller that never reads must not cost
/// memory.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_not_seen_the_oldest_goes() {
        let (reporter, steps) = progress();

        for number in 0..100 {
            reporter.push(Json::new(number.to_string()).unwrap());
        }

        let seen: Vec<_> = std::iter::from_fn(|| next(&steps)).collect();
        assert_eq!(seen.len(), KEPT);
        assert_eq!(seen.last().unwrap().as_str(), "99");
    }

    #[test]
    fn large_progress_that_was_not_seen_leaves_the_newest_only() {
        let (reporter, steps) = progress();
        let large = |letter: &str| Json::new(format!("\"{}\"", letter.repeat(KEPT_BYTES))).unwrap();

        reporter.push(large("a"));
        reporter.push(large("b"));

        assert_eq!(next(&steps), Some(large("b")));
        assert_eq!(next(&steps), None);
    }

    #[test]
    fn what_was_not_seen_can_be_read_when_the_call_is_over_and_then_it_ends() {
        let (reporter, steps) = progress();
        let context = Context::from_waker(Waker::noop());

        reporter.push(Json::empty_object());
        drop(reporter);

        assert_eq!(next(&steps), Some(Json::empty_object()));
        assert_eq!(steps.poll_next(&context), Poll::Ready(None));
    }

    fn next(steps: &ProgressReader) -> Option<Json> {
        match steps.poll_next(&Context::from_waker(Waker::noop())) {
            Poll::Ready(step) => step,
            Poll::Pending => None,
        }
    }
}
