//! Progress on its way from the driver to the call that asked for it.
//!
//! Progress is worth nothing when it is late: of what a slow caller has not seen, the oldest goes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use ridethrough_core::message::Json;

/// Both ends of the way.
#[derive(Clone, Default)]
pub(crate) struct Progress {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    unseen: VecDeque<Json>,
    bytes: usize,
    reader: Option<Waker>,
}

impl Progress {
    pub(super) fn push(&self, params: Json) {
        let mut state = self.state();
        state.bytes += size(&params);
        state.unseen.push_back(params);
        // The newest is kept however large it is: its own limit is that of a message.
        while state.unseen.len() > KEPT || (state.bytes > KEPT_BYTES && state.unseen.len() > 1) {
            state.pop();
        }
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }

    /// The oldest that was not seen; if there is none, the reader is woken by the next.
    pub(crate) fn next(&self, context: &Context<'_>) -> Option<Json> {
        let mut state = self.state();
        let next = state.pop();
        if next.is_none() {
            state.reader = Some(context.waker().clone());
        }
        next
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pop(&mut self) -> Option<Json> {
        let oldest = self.unseen.pop_front()?;
        self.bytes -= size(&oldest);
        Some(oldest)
    }
}

fn size(params: &Json) -> usize {
    params.as_bytes().len()
}

/// More than anybody can look at; a caller that does not look must not cost memory.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_not_seen_the_oldest_goes() {
        let progress = Progress::default();
        let context = Context::from_waker(Waker::noop());

        for number in 0..100 {
            progress.push(Json::new(number.to_string()).unwrap());
        }

        let seen: Vec<_> = std::iter::from_fn(|| progress.next(&context)).collect();
        assert_eq!(seen.len(), KEPT);
        assert_eq!(seen.last().unwrap().as_str(), "99");
    }

    #[test]
    fn large_progress_that_was_not_seen_leaves_the_newest_only() {
        let progress = Progress::default();
        let context = Context::from_waker(Waker::noop());
        let large = |letter: &str| Json::new(format!("\"{}\"", letter.repeat(KEPT_BYTES))).unwrap();

        progress.push(large("a"));
        progress.push(large("b"));

        assert_eq!(progress.next(&context), Some(large("b")));
        assert_eq!(progress.next(&context), None);
    }
}
