//! Decides which of the requests that match a rule are taken by it.

use std::collections::VecDeque;
use std::time::Duration;

/// How many requests a rule takes before it is used up, or which ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// All of them.
    Always,
    /// Those beyond this many a second: a rate limit. The others are left to later rules.
    Beyond(usize),
    /// This many.
    Exactly(usize),
    /// Those that come within this time from the first: an outage.
    For(Duration),
    /// One.
    Once,
}

/// What is left of a rule's requests.
#[derive(Debug)]
pub(super) enum Share {
    All,
    /// How many pass in a second, and when those of the last second passed.
    Beyond(usize, VecDeque<Duration>),
    Number(usize),
    /// The length of the span, and when it began.
    Span(Duration, Option<Duration>),
}

impl Share {
    /// Whether a request that comes at this moment is taken. Each call uses one up.
    pub(super) fn takes(&mut self, at: Duration) -> bool {
        match self {
            Self::All => true,
            Self::Beyond(most, passed) => {
                while passed.front().is_some_and(|first| at.saturating_sub(*first) >= SECOND) {
                    passed.pop_front();
                }
                let is_beyond = passed.len() >= *most;
                if !is_beyond {
                    passed.push_back(at);
                }
                is_beyond
            }
            Self::Number(left) => {
                let is_left = *left > 0;
                *left = left.saturating_sub(1);
                is_left
            }
            Self::Span(lasts, began) => {
                let began = *began.get_or_insert(at);
                at.saturating_sub(began) < *lasts
            }
        }
    }
}

impl From<Times> for Share {
    fn from(times: Times) -> Self {
        match times {
            Times::Always => Self::All,
            Times::Beyond(most) => Self::Beyond(most, VecDeque::new()),
            Times::Exactly(number) => Self::Number(number),
            Times::For(lasts) => Self::Span(lasts, None),
            Times::Once => Self::Number(1),
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_lets_so_many_pass_in_any_second() {
        let mut share = Share::from(Times::Beyond(2));

        let taken = [0, 100, 200, 999, 1000, 1050, 1100].map(|at| share.takes(millis(at)));

        assert_eq!(taken, [false, false, true, true, false, true, false]);
    }

    #[test]
    fn an_outage_begins_with_the_first_request_and_ends_by_the_clock() {
        let mut share = Share::from(Times::For(millis(300)));

        let taken = [5000, 5100, 5299, 5300, 6000].map(|at| share.takes(millis(at)));

        assert_eq!(taken, [true, true, true, false, false]);
    }

    #[test]
    fn a_number_is_used_up() {
        let mut share = Share::from(Times::Exactly(2));

        let taken = [0, 0, 0].map(|at| share.takes(millis(at)));

        assert_eq!(taken, [true, true, false]);
    }

    const fn millis(number: u64) -> Duration {
        Duration::from_millis(number)
    }
}
