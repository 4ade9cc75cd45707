//! The token in force, and the request for a better one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use ridethrough_core::head::Challenge;
use ridethrough_core::{CredentialsId, NoCredentials};

use crate::credentials::{Credentials, Refused, Token};

/// The token that requests are sent with.
pub(super) struct CurrentToken {
    hook: Option<Arc<dyn Credentials>>,
    token: Option<Token>,
    /// Whether the hook has answered before: its first answer may be "none yet".
    has_asked: bool,
}

/// What the hook returned when asked for better credentials than these.
pub(super) struct Renewed {
    pub(super) rejected: CredentialsId,
    pub(super) token: Result<Option<Token>, NoCredentials>,
}

impl CurrentToken {
    pub(super) const fn new(hook: Option<Arc<dyn Credentials>>) -> Self {
        Self { hook, token: None, has_asked: false }
    }

    pub(super) const fn has_hook(&self) -> bool {
        self.hook.is_some()
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.token.clone()
    }

    /// Asks for a better token than the one in force, or for the first one.
    pub(super) fn renew(
        &self,
        rejected: CredentialsId,
        challenge: Option<Challenge>,
    ) -> BoxFuture<'static, Renewed> {
        let (hook, token, has_asked) = (self.hook.clone(), self.token.clone(), self.has_asked);
        let asking = async move {
            match hook {
                None => Err(NoCredentials::because("this client has none")),
                // A hook without a token yet is no failure: the server may not ask for one.
                Some(hook) if !has_asked => Ok(hook.token(None).await.unwrap_or(None)),
                Some(hook) => {
                    let refused = Refused { token: token.as_ref(), challenge: challenge.as_ref() };
                    hook.token(Some(refused)).await
                }
            }
        };
        Box::pin(async move {
            // A hook that panics has failed, but must not end the link.
            let brought = AssertUnwindSafe(asking).catch_unwind().await;
            Renewed {
                rejected,
                token: brought.unwrap_or_else(|_| Err(NoCredentials::because("the hook panicked"))),
            }
        })
    }

    /// Keeps what the hook returned, and returns what that means for earlier results.
    pub(super) fn keep(&mut self, token: Option<Token>) -> TokenChange {
        let is_same = match (&self.token, &token) {
            (Some(old), Some(new)) => old.is_same(new),
            (None, None) => true,
            _ => false,
        };
        // Nothing was sent before the hook's first answer.
        let is_first = !std::mem::replace(&mut self.has_asked, true);
        self.token = token;
        if is_same || is_first { TokenChange::AsBefore } else { TokenChange::Another }
    }
}

/// How the hook's token compares with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenChange {
    /// Another token, perhaps of another person.
    Another,
    /// An equal token, or the first one.
    AsBefore,
}
