//! Whether a person must log in, followed over time and across processes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ridethrough_oauth_core::grant::LoginReason;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::token_source::TokenSource;

/// Whether a person must log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginState {
    /// A person must log in before any call can be made.
    Needed(LoginReason),
    /// No call has found yet that a person must log in.
    NotNeeded,
}

/// Follows whether a person must log in. Made by [`Account::watch`](crate::Account::watch).
///
/// While it is awaited, the store is looked at: every half second while a login is needed, so that programs
/// go on by themselves after a login in another process, and every five seconds otherwise, so that they stop
/// after a logout.
pub struct LoginWatch {
    tokens: Arc<TokenSource>,
    needed: watch::Receiver<Option<LoginReason>>,
    /// When the store was last looked at.
    looked: Instant,
}

impl LoginWatch {
    pub(crate) fn new(tokens: Arc<TokenSource>) -> Self {
        Self { needed: tokens.needed(), tokens, looked: Instant::now() }
    }

    /// Returns whether a person must log in, as far as is known.
    pub fn state(&self) -> LoginState {
        LoginState::of(self.needed.borrow().clone())
    }

    /// Waits until the state changes. Nothing is lost if the future is dropped.
    pub async fn changed(&mut self) -> LoginState {
        loop {
            let pause = self.tokens.look_after();
            tokio::select! {
                biased;
                // The sender is in the token source, which we own.
                _ = self.needed.changed() => {
                    return LoginState::of(self.needed.borrow_and_update().clone());
                }
                () = sleep_until(self.looked + pause.unwrap_or(IDLE)) => {
                    if pause.is_some() {
                        self.tokens.look_at_store().await;
                    }
                    self.looked = Instant::now();
                }
            }
        }
    }
}

impl LoginState {
    fn of(needed: Option<LoginReason>) -> Self {
        needed.map_or(Self::NotNeeded, Self::Needed)
    }
}

impl fmt::Debug for LoginWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginWatch").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// How long to wait when there is nothing to look for.
const IDLE: Duration = Duration::from_secs(30);
