//! How often something happened to each call, by the call's key.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts by key, shared by all that count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Arc<Mutex<BTreeMap<String, u32>>>);

impl Counts {
    /// Counts one more, and returns how many there are.
    pub(crate) fn add(&self, key: &str) -> u32 {
        let mut counts = self.lock();
        let count = counts.entry(key.to_owned()).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn of(&self, key: &str) -> u32 {
        self.lock().get(key).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
