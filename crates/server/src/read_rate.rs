//! How fast bodies are read that are larger than most.
//!
//! Whoever sends bodies that are refused in the end would otherwise take the cores from small requests, as fast as it
//! can send.

use std::sync::{Mutex, PoisonError};

use ridethrough_core::Moment;
use ridethrough_core::byte_rate::ByteRate;
use tokio::time::{Instant, sleep};

/// The rate of all bodies of one size together.
#[derive(Debug)]
pub(crate) struct ReadRate {
    rate: Mutex<ByteRate>,
    start: Instant,
}

impl ReadRate {
    pub(crate) fn new(rate: ByteRate) -> Self {
        Self { rate: Mutex::new(rate), start: Instant::now() }
    }

    /// Records bytes that were read, and waits until more should be.
    pub(crate) async fn keep(&self, bytes: usize) {
        let now = Moment::at(self.start.elapsed());
        let wait = self.rate.lock().unwrap_or_else(PoisonError::into_inner).count(now, bytes);
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }
}
