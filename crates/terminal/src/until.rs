//! Runs work until it is done or a signal stops it.

use std::future::Future;
use std::process::ExitCode;

use anyhow::{Context, Result};
use tokio::runtime;

pub use crate::platform::asked;

/// A request to stop, by a person or by another process.
#[derive(Debug)]
pub struct Stopped {
    code: u8,
}

impl Stopped {
    /// Returns the exit code that shells give to the signal.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// Reports the stop, and what became of the work.
    pub fn tell(&self, what_became: &str) -> ExitCode {
        eprintln!("\nstopped: {what_became}");
        self.code()
    }
}

/// Runs `work` to its end, or drops it when this process is asked to stop.
pub fn stopped<T>(work: impl Future<Output = T>) -> Result<Result<T, Stopped>> {
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no threads could be started")?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            done = work => Ok(done),
            code = asked() => Err(Stopped { code }),
        }
    });
    runtime.shutdown_background();
    Ok(outcome)
}
