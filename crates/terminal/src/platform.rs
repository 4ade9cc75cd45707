//! What differs by platform: which signals there are. No other file of this crate names a platform.

#[cfg(unix)]
use futures_util::future::select_all;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

/// Waits for a signal, and returns the exit code that shells give to it. Signals are caught from this call
/// on.
#[cfg(unix)]
pub fn asked() -> impl Future<Output = u8> {
    let kinds = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::terminate(),
    ];
    let heard = kinds.into_iter().filter_map(|kind| {
        // A signal that cannot be caught has its default effect.
        let mut signal = signal(kind).ok()?;
        Some(Box::pin(async move {
            signal.recv().await;
            u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX)
        }))
    });
    let heard: Vec<_> = heard.collect();
    async move {
        if heard.is_empty() { std::future::pending().await } else { select_all(heard).await.0 }
    }
}

/// Waits for Ctrl-C, and returns the exit code that shells give to it.
#[cfg(not(unix))]
pub async fn asked() -> u8 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 130,
        Err(_) => std::future::pending().await,
    }
}
