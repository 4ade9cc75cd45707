//! The retry budget: how much extra load a server in trouble gets from us.
//!
//! A limit per call is not enough. When a server fails, every call fails, and "three tries each"
//! means four times the load just when it can bear least. So all calls of a link share one purse:
//! each new call pays in a fifth of a token, time pays in ten a second, and each re-send takes one
//! out. It limits how fast calls are repeated, not how long they hope: what finds the purse empty may
//! reserve a token that time has yet to pay in. Waiting for a connection, resuming a stream, renewing a session or credentials are exempt:
//! each of them has a bound of its own.

use std::time::Duration;

use crate::moment::Moment;

/// A purse of retry tokens.
#[derive(Clone, Debug)]
pub struct Budget {
    /// In thousandths of a token, so that a fifth is a whole number; below zero if tokens are reserved that
    /// are not there yet.
    balance: i64,
    counted_at: Moment,
}

impl Budget {
    /// A full purse.
    pub const fn new(now: Moment) -> Self {
        Self { balance: BURST, counted_at: now }
    }

    /// A call begins.
    pub fn deposit(&mut self) {
        self.balance = (self.balance + PER_CALL).min(BURST);
    }

    /// Takes one token, or says that there is none.
    pub fn withdraw(&mut self, now: Moment) -> Result<(), Empty> {
        self.collect(now);
        if self.balance < TOKEN {
            return Err(Empty);
        }
        self.balance -= TOKEN;
        Ok(())
    }

    /// Takes one token, of those to come if there is none. Returns when it is there; not later than
    /// `latest`.
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

    /// Whole tokens left.
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

/// There is no token left.
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
