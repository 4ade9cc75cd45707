//! Credentials without a token, which keep the server's answer to that.

use std::sync::{Arc, Mutex, PoisonError};

use ridethrough::credentials::{Challenge, Credentials, NoCredentials, Refused, Token};
use ridethrough::transport::BoxFuture;

/// Credentials without a token, and what the server demanded.
#[derive(Clone, Default)]
pub(crate) struct NoToken(Arc<Mutex<LoginDemand>>);

/// What a server demands after a request without a token.
#[derive(Clone, Debug, Default)]
pub(crate) enum LoginDemand {
    /// A login; with the challenge, if there was one.
    Login(Option<Challenge>),
    /// Nothing: it answers.
    #[default]
    Nothing,
}

impl NoToken {
    /// Returns what the server demanded.
    pub(crate) fn demand(&self) -> LoginDemand {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Credentials for NoToken {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        Box::pin(async move {
            let Some(refused) = refused else { return Ok(None) };
            let demand = LoginDemand::Login(refused.challenge.cloned());
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = demand;
            Err(NoCredentials::because("nobody has logged in yet"))
        })
    }
}
