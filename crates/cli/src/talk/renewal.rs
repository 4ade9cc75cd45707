//! The end of a command, while a token is being renewed.

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

use super::terminal::Terminal;
use crate::options::Settings;

/// Lets a token that is being renewed be stored: the next command needs it.
pub(super) async fn wait(settings: &Settings, terminal: &Terminal) {
    let mut renewed = pin!(settings.renewals_ended());
    if timeout(SILENCE, &mut renewed).await.is_err() {
        terminal.say("done; waiting for a token that is being renewed");
        // Whoever does not answer in this time has lost the answer.
        let _ = timeout(LONGEST, renewed).await;
    }
}

/// After this long somebody who waits is told what for.
const SILENCE: Duration = Duration::from_secs(2);
/// A refresh takes 10 s at most, and its repetition 10 s more; so long it is waited for the lock, too.
const LONGEST: Duration = Duration::from_secs(40);
