//! A process that can be killed: its connections are reset, its locks given back, and nothing that is left
//! of it reaches the store or the network.
//!
//! Its tasks cannot be stopped from outside, because the library starts tasks of its own. They wait for ever
//! at the next thing that they want from the world instead.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough_lab::Control;
use tokio::sync::{Notify, OwnedMutexGuard};

/// The life of one process. Clones share one life.
#[derive(Clone)]
pub(super) struct Process {
    /// Its place among the processes of the world; one that is started again has its place.
    pub(super) place: usize,
    /// Its number: one that is started again has another.
    pub(super) number: usize,
    is_dead: Arc<AtomicBool>,
    /// Wakes those who wait for its death, in their order, so that a seed repeats.
    died: Arc<Notify>,
    belongings: Arc<Mutex<Belongings>>,
}

#[derive(Default)]
struct Belongings {
    connections: Vec<Control>,
    locks: Vec<LockSlot>,
}

/// A lock that is given back by its holder, or by the holder's death.
#[derive(Clone, Default)]
pub(super) struct LockSlot(Arc<Mutex<Option<OwnedMutexGuard<()>>>>);

impl Process {
    pub(super) fn new(place: usize, number: usize) -> Self {
        Self {
            place,
            number,
            is_dead: Arc::default(),
            died: Arc::default(),
            belongings: Arc::default(),
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    /// Kills it, as `kill -9` does.
    pub(super) fn kill(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        self.died.notify_waiters();
        let Belongings { connections, locks } = std::mem::take(&mut *self.belongings());
        connections.iter().for_each(Control::reset);
        locks.iter().for_each(LockSlot::give_back);
    }

    /// Goes on if it lives, and never if not.
    pub(super) async fn alive(&self) {
        if self.is_dead() {
            pending().await
        }
    }

    /// Waits for its death.
    pub(super) async fn death(&self) {
        let died = self.died.notified();
        if !self.is_dead() {
            died.await;
        }
    }

    pub(super) fn owns_connection(&self, connection: Control) {
        self.belongings().connections.push(connection);
    }

    /// Takes a lock in its name.
    pub(super) fn owns_lock(&self, guard: OwnedMutexGuard<()>) -> LockSlot {
        let slot = LockSlot(Arc::new(Mutex::new(Some(guard))));
        let mut belongings = self.belongings();
        belongings.locks.retain(LockSlot::is_held);
        belongings.locks.push(slot.clone());
        slot
    }

    fn belongings(&self) -> MutexGuard<'_, Belongings> {
        self.belongings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LockSlot {
    pub(super) fn give_back(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn is_held(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
