//! When `expose` is asked to stop, and by what.
//!
//! Unlike other commands it does not listen for SIGHUP: whoever listens undoes `nohup`. Where nobody ignores
//! it, it ends the process at once, and the supervisors see to the rest.

use tokio::signal::unix::SignalKind;

use crate::until;

/// Ends when a signal comes that asks to stop, with the exit code that shells give to it.
pub(super) async fn asked() -> u8 {
    until::heard([SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()]).await
}
