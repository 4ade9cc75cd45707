//! How fast bodies are read that are larger than most.
//!
//! Each is parsed on one of a few threads, so reading them faster than these can parse serves nobody: whoever
//! sends bodies that are refused in the end would only take the cores from small requests.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A rate in bytes a second, which a burst may exceed.
#[derive(Debug)]
pub(crate) struct ReadRate {
    bytes_per_second: usize,
    /// How far reading may be ahead of the rate.
    ahead: Duration,
    /// When all that was read would have been read at the rate.
    due: Mutex<Instant>,
}

impl ReadRate {
    /// Creates a rate at which nothing has been read for long.
    pub(crate) fn new(bytes_per_second: usize, burst: usize) -> Self {
        let ahead = time_of(burst, bytes_per_second);
        Self { bytes_per_second, ahead, due: Mutex::new(Instant::now()) }
    }

    /// Records so many bytes. Returns until when no more should be read, if not at once.
    pub(crate) fn read(&self, bytes: usize) -> Option<Instant> {
        let now = Instant::now();
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        *due = now.max(*due) + time_of(bytes, self.bytes_per_second);
        let next = due.checked_sub(self.ahead)?;
        (next > now).then_some(next)
    }
}

fn time_of(bytes: usize, bytes_per_second: usize) -> Duration {
    let nanos = bytes as u128 * 1_000_000_000 / bytes_per_second.max(1) as u128;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep_until};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_read_at_once_and_what_follows_at_the_rate() {
        let rate = ReadRate::new(1_000_000, 500_000);
        let began = Instant::now();

        for _ in 0..5 {
            assert_eq!(rate.read(100_000), None);
        }
        for _ in 0..20 {
            if let Some(next) = rate.read(100_000) {
                sleep_until(next).await;
            }
        }

        assert_eq!(began.elapsed().as_millis(), 2_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_makes_room_for_one_burst_and_no_more() {
        let rate = ReadRate::new(1_000_000, 500_000);
        assert_eq!(rate.read(500_000), None);

        advance(Duration::from_secs(60)).await;

        assert_eq!(rate.read(500_000), None);
        assert_eq!(rate.read(1_000), Some(Instant::now() + Duration::from_millis(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn readers_share_it() {
        let rate = ReadRate::new(1_000_000, 0);
        let began = Instant::now();
        let reader = || async {
            for _ in 0..10 {
                if let Some(next) = rate.read(10_000) {
                    sleep_until(next).await;
                }
            }
        };

        tokio::join!(reader(), reader(), reader(), reader());

        assert_eq!(began.elapsed().as_millis(), 400);
    }
}
