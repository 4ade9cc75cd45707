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
    /// Says how much is held from here on, and whether that is within the limit of the link.
    pub(super) fn hold(&mut self, bytes: usize) -> bool {
        let others = self.memory.held.fetch_sub(self.held, Ordering::Relaxed) - self.held;
        self.memory.held.fetch_add(bytes, Ordering::Relaxed);
        self.held = bytes;
        others.saturating_add(bytes) <= self.memory.limit
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_count_together_and_come_back_when_dropped() {
        let memory = Memory::new(10);
        let (mut one, mut two) = (memory.share(), memory.share());

        assert!(one.hold(6));
        assert!(!two.hold(6));
        drop(two);
        assert!(one.hold(10));
        one.hold(0);
        assert!(memory.share().hold(10));
    }
}
