//! What all parts of a world share: what is true, and the chance that decides.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough_core::rng::Rng;

use super::faults::{AuthFault, AuthFaults};
use super::oracle::AuthOracle;

/// The truth of a world. Clones share one.
#[derive(Clone)]
pub(super) struct Truth {
    oracle: Arc<Mutex<AuthOracle>>,
    chance: Arc<Mutex<AuthChance>>,
}

struct AuthChance {
    rng: Rng,
    faults: AuthFaults,
}

impl Truth {
    pub(super) fn new(oracle: AuthOracle, rng: Rng, faults: AuthFaults) -> Self {
        let chance = AuthChance { rng, faults };
        Self { oracle: Arc::new(Mutex::new(oracle)), chance: Arc::new(Mutex::new(chance)) }
    }

    /// Who knows and judges. Never held across an await.
    pub(super) fn oracle(&self) -> MutexGuard<'_, AuthOracle> {
        self.oracle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this fault happens now; one that does is noted.
    pub(super) fn happens(&self, fault: AuthFault) -> bool {
        let happens = {
            let AuthChance { rng, faults } = &mut *self.chance();
            faults.happens(fault, rng)
        };
        if happens {
            self.oracle().met(fault);
        }
        happens
    }

    /// The first of these faults that happens.
    pub(super) fn first(&self, faults: &[AuthFault]) -> Option<AuthFault> {
        faults.iter().copied().find(|fault| self.happens(*fault))
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
        self.chance().rng.below(bound)
    }

    pub(super) fn up_to(&self, most: Duration) -> Duration {
        self.chance().rng.between(Duration::ZERO, most)
    }

    /// Ends all faults for good.
    pub(super) fn heal(&self) {
        self.chance().faults = AuthFaults::none();
    }

    fn chance(&self) -> MutexGuard<'_, AuthChance> {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
