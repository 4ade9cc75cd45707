//! What all measurements of the gateway use.

use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use rustix::process::nice;
use tokio::runtime::{Builder, Runtime};

/// Returns a runtime for callers, on this thread.
pub(super) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Returns the time that this part, in hundredths, of the calls did not exceed.
pub(super) fn percentile(times: &mut [Duration], part: usize) -> Duration {
    times.sort_unstable();
    let place = (times.len() * part / 100).min(times.len().saturating_sub(1));
    times.get(place).copied().unwrap_or_default()
}

/// Who gives way to whom where all share the cores of one machine: whoever measures, and the servers, come first, as
/// if they had machines of their own.
#[derive(Clone, Copy)]
pub(super) enum Rank {
    Gateway,
    Attackers,
}

impl Rank {
    /// Gives this rank to the calling thread, and to what it starts from here on.
    pub(super) fn take(self) -> Result<()> {
        nice(match self {
            Self::Gateway => 10,
            Self::Attackers => 19,
        })?;
        Ok(())
    }

    /// Does this on a thread of this rank, and waits for it.
    pub(super) fn start<T: Send>(self, start: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let ranked = || {
            self.take()?;
            start()
        };
        let joined = thread::scope(|scope| scope.spawn(ranked).join());
        joined.map_err(|_| anyhow!("the thread that starts it panicked"))?
    }
}
