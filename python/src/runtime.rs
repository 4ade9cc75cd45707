//! The one tokio runtime, started with the first client and forgotten in the child of a fork.
//!
//! A forked child has none of the runtime's threads, and a lock may be held by a thread that it does not
//! have. So nothing made before a fork is touched after it: not even dropped.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::repeats;

/// The number of forks that led to this process, recorded in everything that it makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForkAge(u64);

impl ForkAge {
    /// Returns the number of forks so far.
    pub(crate) fn current() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether this number was recorded before a fork.
    pub(crate) fn is_past(self) -> bool {
        self != Self::current()
    }

    /// Fails if this number was recorded before a fork.
    pub(crate) fn check(self) -> PyResult<()> {
        if self.is_past() {
            return Err(PyRuntimeError::new_err(FORKED));
        }
        Ok(())
    }
}

/// Returns the runtime, and starts it if there is none.
///
/// It is called with Python's lock held, and never releases it: a fork, which needs that lock too, cannot
/// find the mutex locked.
pub(crate) fn handle() -> io::Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(runtime) = &*runtime {
        return Ok(runtime.handle().clone());
    }
    // Two clients may be busy at once, while Python itself runs only one thread.
    let made = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("ridethrough")
        .enable_all()
        .build()?;
    let handle = made.handle().clone();
    *runtime = Some(made);
    Ok(handle)
}

/// Forgets everything that was made before a fork, in the child.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    if let Ok(mut runtime) = RUNTIME.try_lock() {
        std::mem::forget(runtime.take());
    }
    repeats::forget();
}

static FORKS: AtomicU64 = AtomicU64::new(0);
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

const FORKED: &str = "this client was made before the process was forked, and its threads are in the parent\n\
                      hint: make a new client in the child";
