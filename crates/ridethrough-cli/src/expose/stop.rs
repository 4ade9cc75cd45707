//! When `expose` is asked to stop, and by what.
//!
//! Unlike other commands it does not listen for SIGHUP: whoever listens undoes `nohup`. Where nobody ignores
//! it, it ends the process at once, and the supervisors see to the rest.

use futures_util::future::select_all;
use tokio::signal::unix::{SignalKind, signal};

/// Ends when a signal comes that asks to stop, with the exit code that shells give to it.
pub(super) async fn asked() -> u8 {
    let kinds = [SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()];
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
