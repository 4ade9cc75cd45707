//! The processes of a world, each at its place: one that is killed is followed by another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough::Client;

use super::process::Process;

/// The processes that run, by their places.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<Vec<Running>>>);

/// A process that runs, and its client.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) process: Process,
    pub(super) client: Client,
}

impl Places {
    pub(super) fn processes(&self) -> Vec<Process> {
        self.all().iter().map(|it| it.process.clone()).collect()
    }

    pub(super) fn all(&self) -> MutexGuard<'_, Vec<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
