//! The pace of calls to a server that limits them: learnt from its refusals, and raised again with time.
//!
//! A period is a little longer than the time for which the server asks to be left alone. Each period lets out
//! as many calls as the server took in the last period in which it refused something. The pace begins with a
//! few calls, doubles each period until the first refusal, and grows by a few after some periods without one.
//!
//! A period may be refused by mistake: calls that were held up on their way arrive together with those of the
//! next. So most of what the server took before is soon tried again, and a limit that was lowered is learnt
//! over a few periods.

use std::time::Duration;

use crate::moment::Moment;

/// The pace of calls with one name.
#[derive(Debug)]
pub(crate) struct Pace {
    period: Duration,
    /// When the current period began.
    began: Moment,
    /// How many calls may go out in a period.
    allowance: u32,
    /// How many calls the server was seen to take in a period. Up to this number the pace grows quickly.
    taken: u32,
    /// How many calls went out in the current period, and how many of them were refused.
    used: u32,
    refused: u32,
    /// How many periods in a row had no refusal.
    clean: u32,
    /// Whether the server's limit is still unknown.
    is_searching: bool,
    last_refusal: Moment,
}

impl Pace {
    pub(crate) fn new(wait: Duration) -> Self {
        Self {
            period: period(wait),
            began: Moment::START,
            allowance: FIRST,
            taken: 0,
            used: 0,
            refused: 0,
            clean: 0,
            is_searching: true,
            last_refusal: Moment::START,
        }
    }

    /// Notes a refused call, after which the server asked to be left alone for `wait`.
    pub(crate) fn refused(&mut self, now: Moment, wait: Duration) {
        self.period = period(wait);
        self.last_refusal = now;
        self.clean = 0;
        self.refused += 1;
        if self.used >= self.refused {
            self.is_searching = false;
            self.allowance = (self.used - self.refused).max(1);
        }
    }

    /// Begins a new period, and sets its allowance from what the last one showed.
    pub(crate) fn begin(&mut self, now: Moment) {
        match (self.used, self.refused) {
            (0, _) => {}
            (used, 0) => self.grow(used),
            (used, refused) => {
                let taken = used.saturating_sub(refused);
                let is_likely = taken >= self.taken / 2;
                self.taken = if is_likely { taken } else { self.taken - self.taken.div_ceil(4) };
            }
        }
        (self.began, self.used, self.refused) = (now, 0, 0);
    }

    /// Raises the allowance after a period with `used` calls and no refusal.
    fn grow(&mut self, used: u32) {
        self.clean += 1;
        self.taken = self.taken.max(used);
        let doubled = self.allowance.saturating_mul(2);
        if self.is_searching {
            self.allowance = doubled;
        } else if self.allowance < self.taken {
            self.allowance = doubled.min(self.taken);
        } else if self.clean >= CLEAN {
            self.clean = 0;
            self.allowance = self.allowance.saturating_add((self.allowance / 8).max(1));
        }
    }

    /// Lets one more call out, or returns when the next period begins.
    pub(crate) fn take(&mut self, now: Moment) -> Result<(), Moment> {
        if now >= self.next() {
            self.begin(now);
        }
        if self.used >= self.allowance {
            return Err(self.next());
        }
        self.used += 1;
        Ok(())
    }

    /// Returns when the next period begins.
    pub(crate) fn next(&self) -> Moment {
        self.began + self.period
    }

    /// Whether the last refusal is too long ago to say anything about the limit.
    pub(crate) fn is_forgotten(&self, now: Moment) -> bool {
        now.since(self.last_refusal) >= self.period.saturating_mul(2).max(MEMORY)
    }
}

/// Returns the length of a period. It is longer than the server asked for, because the first calls of a
/// period may overtake the last ones of the period before and would then count among them.
fn period(wait: Duration) -> Duration {
    let wait = wait.clamp(SHORTEST, LONGEST);
    wait + wait / 20
}

/// How many calls go out in the first period.
const FIRST: u32 = 4;
/// How many periods without a refusal pass before more calls are tried.
const CLEAN: u32 = 5;
/// The shortest period, whatever the server says.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest period. A server that asks for more is held off by its gate alone.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a limit is remembered at least.
const MEMORY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_doubles_until_it_is_refused_and_stays_below_that() {
        let (mut pace, mut now) = (Pace::new(SECOND), Moment::START);
        let mut seen = Vec::new();

        for _ in 0..8 {
            seen.push(live(&mut pace, &mut now, 20));
        }

        assert_eq!(seen, [4, 8, 16, 32, 20, 20, 20, 20]);
    }

    #[test]
    fn what_was_learnt_is_given_back_step_by_step() {
        let (mut pace, mut now) = (Pace::new(SECOND), Moment::START);
        pace.begin(now);
        assert!(pace.take(now).is_ok() && pace.take(now).is_ok());
        pace.refused(now, SECOND);

        let mut sent = 0;
        for _ in 0..CLEAN + 1 {
            now = pace.next();
            sent = (0..).take_while(|_| pace.take(now).is_ok()).count();
        }

        assert_eq!(sent, 2);
        assert!(pace.is_forgotten(now + MEMORY) && !pace.is_forgotten(now));
    }

    /// Before this was fixed, the pace recovered from one call a second by one more every five seconds.
    #[test]
    fn a_period_that_was_refused_whole_is_made_up_for_in_a_few_periods() {
        let (mut pace, mut now) = (Pace::new(SECOND), Moment::START);
        for limit in [20, 20, 20, 20, 20, 0] {
            live(&mut pace, &mut now, limit);
        }

        let seen: Vec<_> = (0..7).map(|_| live(&mut pace, &mut now, 20)).collect();

        assert_eq!(seen, [1, 2, 4, 8, 15, 16, 16]);
    }

    #[test]
    fn a_limit_that_was_lowered_is_learnt_within_a_few_periods() {
        let (mut pace, mut now) = (Pace::new(SECOND), Moment::START);
        for _ in 0..5 {
            live(&mut pace, &mut now, 40);
        }

        let seen: Vec<_> = (0..16).map(|_| live(&mut pace, &mut now, 5)).collect();

        assert!(seen.iter().sum::<u32>() <= 16 * 5 * 3, "{seen:?}");
        assert!(seen[12..].iter().all(|sent| *sent <= 6), "{seen:?}");
    }

    /// Runs one period against a server that takes `limit` calls. Returns how many went out.
    fn live(pace: &mut Pace, now: &mut Moment, limit: u32) -> u32 {
        *now = *now + SECOND;
        pace.begin(*now);
        let sent = (0..).take_while(|_| pace.take(*now).is_ok()).count() as u32;
        (limit..sent).for_each(|_| pace.refused(*now, SECOND));
        sent
    }

    const SECOND: Duration = Duration::from_secs(1);
}
