//! Runs something until it is done or a person stops it.

use std::future::Future;
use std::process::ExitCode;

use anyhow::{Context, Result};
use tokio::runtime;

/// A person, or whoever minds this process, asked it to stop.
#[derive(Debug)]
pub(super) struct Stopped {
    code: u8,
}

impl Stopped {
    /// Says so, and what became of what was under way.
    pub(super) fn tell(&self, what_became: &str) -> ExitCode {
        eprintln!("\nstopped: {what_became}");
        ExitCode::from(self.code)
    }
}

/// Runs `work` to its end, or drops it when this process is asked to stop.
pub(super) fn stopped<T>(work: impl Future<Output = T>) -> Result<Result<T, Stopped>> {
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

/// Ends when a signal comes, with the exit code that shells give to it.
#[cfg(unix)]
async fn asked() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Then the signals do what they do by default.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => 130,
        _ = terminate.recv() => 143,
    }
}

#[cfg(not(unix))]
async fn asked() -> u8 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 130,
        Err(_) => std::future::pending().await,
    }
}
