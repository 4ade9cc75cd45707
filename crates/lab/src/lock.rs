//! Locks a mutex whose holders never panic halfway through a change.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, poisoned or not: a test that fails inside a handler must not hide behind a second panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
