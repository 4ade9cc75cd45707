//! The retry budget: a limit on the extra load that retries put on a server in trouble.
//!
//! A limit per call is not enough. When a server fails, every call fails, and "three tries each" means four
//! times the load when the server can bear it least. So all calls of a link share one budget of tokens: each
//! new call adds a fifth of a token, time adds ten a second, and each resend takes one. It limits how fast
//! calls are repeated, not how long they go on: a call that finds it empty may reserve a token that time has
//! yet to add. Waiting for a connection, resuming a stream, and renewing a session or credentials are exempt,
//! because each has a bound of its own.

use std::time::Duration;

use crate::moment::Moment;

/// A budget of retry tokens.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The balance in thousandths of a token, so that a fifth is a whole number; below zero if future tokens
    /// are reserved.
    balance: i64,
    counted_at: Moment,
}

impl Budget {
    /// Creates a full budget.
    pub const fn new(now: Moment) -> Self {
        Self { balance: BURST, counted_at: now }
    }

    /// Adds what a new call contributes.
    pub fn deposit(&mut self) {
        self.balance = (self.balance + PER_CALL).min(BURST);
    }

    /// Takes one token, if there is one.
    pub fn withdraw(&mut self, now: Moment) -> Result<(), Empty> {
        self.collect(now);
        if self.balance < TOKEN {
            return Err(Empty);
        }
        self.balance -= TOKEN;
        Ok(())
    }

    /// Takes one token, of the future ones if there is none. Returns when it is available; fails if that is
    /// later than `latest`.
    pub fn reserve(&mut self, now: Moment, latest: Moment) -> Result<Moment, Empty> {
        self.collect(now);
        let missing = u64::try_from(TOKEN - self.balance).unwrap_or_default();
        let at = now + Duration::from_millis((missing * 1000).div_ceil(PER_SECOND));
        if at > latest {
            return Err(Empty);
        }
        self.balance -= TOKEN;
        Ok(at)
    }

    /// Returns how many whole tokens are left.
    pub fn balance(&self) -> u64 {
        u64::try_from(self.balance / TOKEN).unwrap_or_default()
    }

    fn collect(&mut self, now: Moment) {
        let passed = now.since(self.counted_at).min(Duration::from_secs(60));
        let earned = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX) * PER_SECOND / 1000;
        if let Ok(earned) = i64::try_from(earned)
            && earned > 0
        {
            self.balance = (self.balance + earned).min(BURST);
            self.counted_at = now;
        }
    }
}

/// The error of a budget without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Empty;

const TOKEN: i64 = 1000;
const PER_CALL: i64 = TOKEN / 5;
const PER_SECOND: u64 = 10_000;
const BURST: i64 = 100 * TOKEN;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retry_budget_is_a_burst_of_100_then_20_percent_of_calls_plus_10_per_second() {
        let now = Moment::START;
        let mut budget = Budget::new(now);

        assert_eq!(withdrawals(&mut budget, now), 100);

        (0..50).for_each(|_| budget.deposit());
        assert_eq!(withdrawals(&mut budget, now), 10);
        assert_eq!(withdrawals(&mut budget, now + Duration::from_secs(2)), 20);
    }

    #[test]
    fn the_budget_never_grows_past_its_burst() {
        let mut budget = Budget::new(Moment::START);

        (0..10_000).for_each(|_| budget.deposit());

        assert_eq!(withdrawals(&mut budget, Moment::NEVER), 100);
    }

    #[test]
    fn what_is_reserved_comes_at_ten_a_second_and_not_later_than_wanted() {
        let now = Moment::START;
        let mut budget = Budget::new(now);
        withdrawals(&mut budget, now);
        let latest = now + Duration::from_secs(1);

        let granted: Vec<_> =
            std::iter::repeat_with(|| budget.reserve(now, latest)).map_while(Result::ok).collect();

        assert_eq!(granted.len(), 10);
        assert_eq!(granted[0], now + Duration::from_millis(100));
        assert_eq!(granted[9], latest);
        assert!(budget.withdraw(latest).is_err(), "what was reserved is not there for others");
    }

    #[test]
    fn time_is_not_lost_to_rounding_when_asked_often() {
        let mut budget = Budget::new(Moment::START);
        withdrawals(&mut budget, Moment::START);

        let granted = (0..1000).filter(|ms| budget.withdraw(Moment::millis(*ms)).is_ok()).count();

        assert_eq!(granted, 9);
    }

    fn withdrawals(budget: &mut Budget, now: Moment) -> usize {
        std::iter::repeat_with(|| budget.withdraw(now)).take_while(Result::is_ok).count()
    }
}
