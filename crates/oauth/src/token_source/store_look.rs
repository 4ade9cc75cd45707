//! Looks at the store for what other processes did: a login, a refresh, a logout.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_oauth_core::grant::LoginReason;

use super::TokenSource;
use super::memory::StoreChange;

impl TokenSource {
    /// How soon to look at the store again; `None` if there is nothing to look for.
    pub(crate) fn look_after(&self) -> Option<Duration> {
        if self.needed.borrow().is_some() {
            return Some(WHILE_NEEDED);
        }
        self.memory().record.is_some().then_some(WHILE_LOGGED_IN)
    }

    /// Takes over what another process has stored. A store that cannot be read is looked at again later.
    pub(crate) async fn look_at_store(self: &Arc<Self>) {
        let Ok(record) = self.context.load().await else { return };
        let change = self.memory().take_over(record);
        match change {
            StoreChange::LoggedIn => self.set_needed(None),
            StoreChange::LoggedOut => self.set_needed(Some(LoginReason::NoGrant)),
            StoreChange::Nothing => return,
        }
        self.tell_ended();
    }
}

/// People who have just logged in look whether it works.
const WHILE_NEEDED: Duration = Duration::from_millis(500);
/// A logout has no hurry: the server was told, too.
const WHILE_LOGGED_IN: Duration = Duration::from_secs(5);
