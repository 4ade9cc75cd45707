//! How many calls a principal may make: in a minute, and at once.
//!
//! The counts are behind an interface, because gateways that serve one door together must share them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ridethrough_server::Principal;
use tokio::time::Instant;

/// Counts the calls of principals.
pub trait QuotaStore: Send + Sync + 'static {
    /// Takes a place for a call of this principal within these limits; or says why there is none.
    fn begin<'a>(
        &'a self,
        principal: &'a Principal,
        limits: Limits,
    ) -> BoxFuture<'a, Result<QuotaPlace, OverQuota>>;
}

/// How many calls a principal may make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How many may begin in a minute.
    pub calls_per_minute: Option<u32>,
    /// How many may be under way at once.
    pub in_flight: Option<u32>,
}

/// A place for a call, which is free again when this is dropped.
#[must_use]
pub struct QuotaPlace(Option<Box<dyn FnOnce() + Send>>);

/// Why a call has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverQuota {
    /// As many calls are under way as may be.
    InFlight {
        /// The limit.
        most: u32,
    },
    /// As many calls have begun within a minute as may.
    PerMinute {
        /// The limit.
        most: u32,
        /// When the next may begin.
        retry_after: Duration,
    },
}

/// Counts in this process.
#[derive(Clone, Debug, Default)]
pub struct MemoryQuotas {
    counts: Arc<Mutex<BTreeMap<Principal, Counted>>>,
}

/// The calls of one principal.
#[derive(Debug)]
struct Counted {
    in_flight: u32,
    /// When the calls that have begun would have begun at an even pace: the virtual clock of a leaky bucket.
    paced: Instant,
}

impl QuotaPlace {
    /// Creates a place that calls this when it is dropped.
    pub fn new(free: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(free)))
    }
}

impl Drop for QuotaPlace {
    fn drop(&mut self) {
        if let Some(free) = self.0.take() {
            free();
        }
    }
}

impl fmt::Debug for QuotaPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuotaPlace").finish_non_exhaustive()
    }
}

impl QuotaStore for MemoryQuotas {
    fn begin<'a>(
        &'a self,
        principal: &'a Principal,
        limits: Limits,
    ) -> BoxFuture<'a, Result<QuotaPlace, OverQuota>> {
        ready(self.begin_now(principal, limits)).boxed()
    }
}

impl MemoryQuotas {
    fn begin_now(&self, principal: &Principal, limits: Limits) -> Result<QuotaPlace, OverQuota> {
        let now = Instant::now();
        let mut counts = self.counts();
        if counts.len() >= MANY {
            counts.retain(|_, it| it.in_flight > 0 || it.paced > now);
        }
        let count = counts.entry(principal.clone()).or_insert(Counted { in_flight: 0, paced: now });
        if let Some(most) = limits.in_flight.filter(|most| count.in_flight >= *most) {
            return Err(OverQuota::InFlight { most });
        }
        if let Some(most) = limits.calls_per_minute {
            let step = MINUTE / most.max(1);
            let paced = count.paced.max(now) + step;
            let longest = now + MINUTE;
            if paced > longest {
                return Err(OverQuota::PerMinute { most, retry_after: paced - longest });
            }
            count.paced = paced;
        }
        count.in_flight += 1;
        let (counts, principal) = (self.counts.clone(), principal.clone());
        Ok(QuotaPlace::new(move || {
            if let Some(count) = locked(&counts).get_mut(&principal) {
                count.in_flight = count.in_flight.saturating_sub(1);
            }
        }))
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<Principal, Counted>> {
        locked(&self.counts)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics in the middle of a change, so a poisoned lock is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MINUTE: Duration = Duration::from_secs(60);
/// How many principals are remembered before those without a call are forgotten.
const MANY: usize = 1000;

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minute_has_as_many_calls_as_it_may_and_then_one_at_a_time() {
        let quotas = MemoryQuotas::default();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let limits = Limits { calls_per_minute: Some(3), in_flight: None };
        let begin = |who: &Principal| quotas.begin_now(who, limits).map(|_| ());

        assert_eq!([begin(&ada), begin(&ada), begin(&ada)], [Ok(()); 3]);
        let retry_after = Duration::from_secs(20);
        assert_eq!(begin(&ada), Err(OverQuota::PerMinute { most: 3, retry_after }));
        assert_eq!(begin(&bob), Ok(()), "it is another's");
        advance(retry_after).await;

        assert_eq!(begin(&ada), Ok(()));
        assert!(begin(&ada).is_err());
        advance(Duration::from_secs(600)).await;
        assert_eq!([begin(&ada), begin(&ada), begin(&ada)], [Ok(()); 3]);
        assert!(begin(&ada).is_err(), "what was not used is not saved up");
    }

    #[tokio::test]
    async fn a_call_that_ends_leaves_its_place_to_the_next() {
        let quotas = MemoryQuotas::default();
        let ada = Principal::new("ada");
        let limits = Limits { calls_per_minute: None, in_flight: Some(1) };
        let first = quotas.begin(&ada, limits).await.unwrap();

        assert_eq!(quotas.begin(&ada, limits).await.unwrap_err(), OverQuota::InFlight { most: 1 });
        drop(first);

        assert!(quotas.begin(&ada, limits).await.is_ok());
    }
}
