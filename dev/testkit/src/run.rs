//! A run of a program from its beginning to its exit code.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

/// Returns the exit code of a run: 0 if everything was as it must be, 1 if not or if it failed, which is told.
pub fn ended(outcome: Result<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `run` until Ctrl-C or SIGTERM. Dropping it must end what it started, which `then` says.
///
/// # Errors
///
/// Fails as `run` does, and if it is interrupted.
#[cfg(unix)]
pub async fn or_interrupted(run: impl Future<Output = Result<bool>>, then: &str) -> Result<bool> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut asked_to_end = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = run => outcome,
        _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted; {then}"),
        _ = asked_to_end.recv() => anyhow::bail!("asked to end; {then}"),
    }
}

/// Waits until something holds, and returns whether it did within this time.
pub async fn until(within: Duration, pause: Duration, holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > within {
            return false;
        }
        sleep(pause).await;
    }
    true
}
