//! What all measurements of the gateway use.

use std::time::Duration;

use anyhow::Result;
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
