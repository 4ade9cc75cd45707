//! The table of all timers of a link.
//!
//! No other file keeps wake-up times in order. Each timer has at most one moment; setting it again moves it.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{ExchangeId, NoticeId};
use crate::moment::Moment;

/// The reasons to wake the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    Abandoned,
    Breaker,
    Close,
    Credentials,
    Dial,
    Exchange(ExchangeId),
    Gates,
    Hints,
    Listener,
    Notice(NoticeId),
    Probation,
    Pulse,
    Renewal,
    Restore,
    Scope,
}

/// The timers by reason and by moment.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    moments: BTreeMap<Timer, Moment>,
    order: BTreeSet<(Moment, Timer)>,
}

impl Timers {
    /// Moves a timer, or stops it.
    pub(crate) fn set(&mut self, timer: Timer, moment: Option<Moment>) {
        let old = match moment {
            Some(moment) => self.moments.insert(timer, moment),
            None => self.moments.remove(&timer),
        };
        if old == moment {
            return;
        }
        if let Some(old) = old {
            self.order.remove(&(old, timer));
        }
        if let Some(moment) = moment {
            self.order.insert((moment, timer));
        }
    }

    /// Returns when a timer fires, if it is set.
    pub(crate) fn get(&self, timer: Timer) -> Option<Moment> {
        self.moments.get(&timer).copied()
    }

    /// Returns the next timer to fire.
    pub(crate) fn next(&self) -> Option<(Moment, Timer)> {
        self.order.first().copied()
    }

    /// Removes and returns one timer that is due.
    pub(crate) fn pop_due(&mut self, now: Moment) -> Option<Timer> {
        let (moment, timer) = self.next()?;
        (moment <= now).then(|| {
            self.set(timer, None);
            timer
        })
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_set_again_fires_only_at_its_last_moment() {
        let mut timers = Timers::default();
        timers.set(Timer::Dial, Some(Moment::secs(1)));
        timers.set(Timer::Dial, Some(Moment::secs(3)));
        timers.set(Timer::Close, Some(Moment::secs(2)));

        assert_eq!(timers.pop_due(Moment::secs(1)), None);
        assert_eq!(timers.pop_due(Moment::secs(5)), Some(Timer::Close));
        assert_eq!(timers.pop_due(Moment::secs(5)), Some(Timer::Dial));
        assert_eq!(timers.next(), None);
    }
}
