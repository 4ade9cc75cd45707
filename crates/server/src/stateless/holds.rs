//! The calls that are held because their clients were asked something. Each is found by its `requestState`,
//! once, by its own principal and for its own params, and is cancelled when its time is over.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::call::StatelessCall;
use super::seal::{Digest, Handle, Sealer};

/// All calls that are held.
pub(crate) struct Holds {
    sealer: Sealer,
    began: Instant,
    table: Mutex<HoldTable>,
}

#[derive(Default)]
struct HoldTable {
    next: u64,
    held: BTreeMap<u64, HeldCall>,
}

struct HeldCall {
    call: StatelessCall,
    principal: Digest,
    until: Instant,
    /// The task that ends the hold.
    timer: AbortHandle,
}

/// Why there is no call for a `requestState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotHeld {
    /// It was sealed for another principal.
    Foreign,
    /// It was not sealed here, or was changed.
    Forged,
    /// Its time is over.
    Late,
    /// It belongs to a call with another method or other params.
    OfAnother,
    /// It was used before.
    Used,
}

impl Default for Holds {
    fn default() -> Self {
        Self { sealer: Sealer::new(), began: Instant::now(), table: Mutex::default() }
    }
}

impl Holds {
    /// Holds a call. Returns its `requestState`; gives the call back if too many are held.
    pub(crate) fn hold(
        self: &Arc<Self>,
        call: StatelessCall,
        principal: Digest,
    ) -> Result<String, Box<StatelessCall>> {
        let mut table = self.lock();
        let of_principal = table.held.values().filter(|it| it.principal == principal).count();
        if table.held.len() >= MOST || of_principal >= MOST_OF_PRINCIPAL {
            return Err(Box::new(call));
        }
        table.next += 1;
        let (hold, until) = (table.next, Instant::now() + PATIENCE);
        let handle = Handle { hold, expires: self.millis(until), principal, subject: call.subject };
        let holds = Arc::downgrade(self);
        let timer = tokio::spawn(async move {
            sleep_until(until).await;
            // Dropping a call cancels it, which must not happen while the table is locked.
            let late = holds.upgrade().and_then(|holds| holds.lock().held.remove(&hold));
            drop(late);
        });
        {
            let mut state = call.state.lock();
            state.is_held = true;
            state.records.clear();
        }
        call.reader.pause();
        table.held.insert(hold, HeldCall { call, principal, until, timer: timer.abort_handle() });
        Ok(self.sealer.seal(&handle))
    }

    /// Takes the call of a `requestState`, which cannot be used again.
    pub(crate) fn take(
        &self,
        state: &str,
        principal: &Digest,
        subject: &Digest,
    ) -> Result<StatelessCall, NotHeld> {
        let handle = self.sealer.open(state).ok_or(NotHeld::Forged)?;
        if handle.principal != *principal {
            return Err(NotHeld::Foreign);
        }
        if handle.subject != *subject {
            return Err(NotHeld::OfAnother);
        }
        let now = Instant::now();
        if self.millis(now) >= handle.expires {
            return Err(NotHeld::Late);
        }
        let held = self.lock().held.remove(&handle.hold).ok_or(NotHeld::Used)?;
        held.timer.abort();
        if now >= held.until { Err(NotHeld::Late) } else { Ok(held.call) }
    }

    /// Whether a `requestState` was sealed here.
    pub(crate) fn has_sealed(&self, state: &str) -> bool {
        self.sealer.open(state).is_some()
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, HoldTable> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for NotHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            // A foreign principal learns no more than if the call did not exist.
            Self::Foreign | Self::Forged => "its `requestState` is not known here",
            Self::Late => {
                "the answers came too late: the call was cancelled, and may have run in part"
            }
            Self::OfAnother => "its `requestState` belongs to a call with other params",
            Self::Used => "its `requestState` was used before, or its call has ended",
        };
        write!(f, "the call cannot go on: {why}; nothing was sent")
    }
}

/// How long a client may take: a person may have to fill in a form, or log in somewhere.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// The most holds. Each keeps a call of the backend and its questions.
const MOST: usize = 1000;
/// A client that never comes back must not keep others from being asked.
const MOST_OF_PRINCIPAL: usize = 250;
