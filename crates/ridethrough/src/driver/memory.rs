//! How much all answers of a link together hold in memory while they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the parts of a link's answers hold together.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    held: Arc<AtomicUsize>,
    limit: usize,
}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Self { held: Arc::default(), limit }
    }

    /// The share of one answer.
    pub(super) fn share(&self) -> Share {
        Share { memory: self.clone(), held: 0 }
    }
}

/// What one answer holds; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    memory: Memory,
    held: usize,
}

impl Share {
    /// Takes more, and says whether that is within the limit of the link.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.held += bytes;
        let before = self.memory.held.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes) <= self.memory.limit
    }

    /// Nothing is held any more.
    pub(super) fn release(&mut self) {
        self.memory.held.fetch_sub(self.held, Ordering::Relaxed);
        self.held = 0;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_together_and_come_back_when_dropped() {
        let memory = Memory::new(10);
        let (mut one, mut two) = (memory.share(), memory.share());

        assert!(one.take(6));
        assert!(!two.take(6));
        drop(two);
        assert!(one.take(4));
        one.release();
        assert!(memory.share().take(10));
    }
}
