//! How long a call waits for a token while the server that gives tokens is away.
//!
//! A token that is live is used. One that has ended is waited for as long as calls wait for credentials, which
//! is half a minute: the authorization server may come back, or a person may log in. A call that would wait
//! in vain ends at once, and says when the server is asked again.

use std::sync::Arc;
use std::time::Duration;

use ridethrough::credentials::NoCredentials;
use ridethrough_oauth_core::Timestamp;
use ridethrough_oauth_core::grant::Effect;
use tokio::time::{Instant, timeout, timeout_at};

use super::{LoginRule, TokenSource};

impl LoginRule {
    /// How long a token that has ended is waited for while the authorization server is away.
    pub(super) const fn patience(self) -> Duration {
        match self {
            Self::IfNeeded => PATIENCE,
            Self::Never => FIRST_PATIENCE,
        }
    }
}

impl TokenSource {
    /// Does work. If the token in force is live, it is used without a wait.
    pub(super) async fn begin_work(
        self: &Arc<Self>,
        work: Effect,
        patience: Instant,
    ) -> Result<Effect, NoCredentials> {
        let usable = self.memory().usable_token(self.context.now());
        let working = self.spawn_work(work);
        match usable {
            Some(token) => Ok(Effect::UseToken(token)),
            None => match timeout_at(patience, working).await {
                // Without an end of the work the runtime ends: there will be no more effects.
                Ok(worked) => Ok(worked.unwrap_or(Effect::GiveUp)),
                Err(_) => Err(trouble("it does not answer")),
            },
        }
    }

    /// Waits until something has ended.
    pub(super) async fn wait_for_end(&self, patience: Instant) -> Result<Effect, NoCredentials> {
        let ended = self.ended.notified();
        // It may have ended before we began to look.
        let effect = self.want_token();
        if effect != Effect::Wait {
            return Ok(effect);
        }
        match timeout_at(patience, ended).await {
            Ok(()) => Ok(self.want_token()),
            Err(_) => Err(trouble("it does not answer")),
        }
    }

    /// Waits until the authorization server may be asked again, or a login has ended.
    pub(super) async fn wait_until(
        &self,
        until: Timestamp,
        patience: Instant,
    ) -> Result<Effect, NoCredentials> {
        let left = until.since(self.context.now());
        if Instant::now() + left > patience {
            return Err(trouble(&format!("asked again in {} s", left.as_secs())));
        }
        let ended = self.ended.notified();
        let _ = timeout(left, ended).await;
        Ok(self.want_token())
    }
}

fn trouble(how: &str) -> NoCredentials {
    NoCredentials::because(format!("the authorization server is in trouble; {how}"))
}

/// Calls wait for half a minute, after which the client does not say why.
const PATIENCE: Duration = Duration::from_secs(28);
/// Shorter before the first request: the server is then asked without a token, and its refusal starts the
/// longer wait.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);
