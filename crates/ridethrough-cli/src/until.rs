//! Runs something until it is done or a person stops it.

use std::future::Future;
use std::process::ExitCode;

use anyhow::{Context, Result};
#[cfg(unix)]
use futures_util::future::select_all;
use tokio::runtime;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

/// A person, or whoever minds this process, asked it to stop.
#[derive(Debug)]
pub(crate) struct Stopped {
    code: u8,
}

impl Stopped {
    /// The exit code that shells give to it.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// Says so, and what became of what was under way.
    pub(crate) fn tell(&self, what_became: &str) -> ExitCode {
        eprintln!("\nstopped: {what_became}");
        self.code()
    }
}

/// Runs `work` to its end, or drops it when this process is asked to stop.
pub(crate) fn stopped<T>(work: impl Future<Output = T>) -> Result<Result<T, Stopped>> {
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
pub(crate) async fn asked() -> u8 {
    let kinds = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::terminate(),
    ];
    heard(kinds).await
}

/// The same for these signals only; the others do what they do by default.
#[cfg(unix)]
pub(crate) async fn heard(kinds: impl IntoIterator<Item = SignalKind>) -> u8 {
    let heard = kinds.into_iter().filter_map(|kind| {
        // One that cannot be heard does what it does by default.
        let mut signal = signal(kind).ok()?;
        Some(Box::pin(async move {
            signal.recv().await;
            u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX)
        }))
    });
    let heard: Vec<_> = heard.collect();
    match heard.is_empty() {
        true => std::future::pending().await,
        false => select_all(heard).await.0,
    }
}

#[cfg(not(unix))]
pub(crate) async fn asked() -> u8 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 130,
        Err(_) => std::future::pending().await,
    }
}
