//! A rate in bytes a second, which a burst may exceed.

use std::time::Duration;

use crate::moment::Moment;

/// Says how long to wait with the next bytes, so that all together keep to a rate.
#[derive(Clone, Debug)]
pub struct ByteRate {
    bytes_per_second: usize,
    /// How far the bytes may be ahead of the rate.
    ahead: Duration,
    /// When all bytes so far would have come at the rate.
    due: Moment,
}

impl ByteRate {
    /// Creates a rate. So many bytes may come at once after a pause.
    pub fn new(bytes_per_second: usize, burst: usize) -> Self {
        let ahead = time_of(burst, bytes_per_second);
        Self { bytes_per_second, ahead, due: Moment::START }
    }

    /// Records bytes that have come. Returns how long to wait before the next.
    pub fn count(&mut self, now: Moment, bytes: usize) -> Duration {
        self.due = now.max(self.due) + time_of(bytes, self.bytes_per_second);
        self.due.since(now + self.ahead)
    }
}

fn time_of(bytes: usize, bytes_per_second: usize) -> Duration {
    let nanos = bytes as u128 * 1_000_000_000 / bytes_per_second.max(1) as u128;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_may_come_at_once_and_what_follows_at_the_rate() {
        let (mut rate, mut now) = (ByteRate::new(1_000_000, 500_000), Moment::START);

        for _ in 0..5 {
            assert_eq!(rate.count(now, 100_000), Duration::ZERO);
        }
        for _ in 0..20 {
            now = now + rate.count(now, 100_000);
        }

        assert_eq!(now, Moment::secs(2));
    }

    #[test]
    fn a_pause_makes_room_for_one_burst_and_no_more() {
        let mut rate = ByteRate::new(1_000_000, 500_000);
        assert_eq!(rate.count(Moment::START, 500_000), Duration::ZERO);

        let later = Moment::secs(60);

        assert_eq!(rate.count(later, 500_000), Duration::ZERO);
        assert_eq!(rate.count(later, 1_000), Duration::from_millis(1));
    }

    #[test]
    fn no_number_overflows() {
        let mut rate = ByteRate::new(0, usize::MAX);

        rate.count(Moment::NEVER, usize::MAX);
        rate.count(Moment::NEVER, usize::MAX);
    }
}
