//! The end of a command while a token is being renewed.

use std::pin::pin;
use std::time::Duration;

use ridethrough_terminal::stderr::Terminal;
use tokio::time::timeout;

use crate::options::Settings;

/// Waits until a token that is being renewed is stored: the next command needs it.
pub(super) async fn wait(settings: &Settings, terminal: &Terminal) {
    let mut renewed = pin!(settings.renewals_ended());
    if timeout(SILENCE, &mut renewed).await.is_err() {
        terminal.say("done; waiting for a token that is being renewed");
        // After this time the authorization server's answer is lost.
        let _ = timeout(LONGEST, renewed).await;
    }
}

/// How long a person waits before they are told what for.
const SILENCE: Duration = Duration::from_secs(2);
/// The longest wait. A refresh takes 10 s at most, its repetition 10 s more, and the lock may take as long
/// again.
const LONGEST: Duration = Duration::from_secs(40);
