//! Credentials that have no token, and remember what a server says to that.

use std::sync::{Arc, Mutex, PoisonError};

use ridethrough::credentials::{Challenge, Credentials, NoCredentials, Refused, Token};
use ridethrough::transport::BoxFuture;

/// No token, and what the server said to that.
#[derive(Clone, Default)]
pub(crate) struct NoToken(Arc<Mutex<LoginDemand>>);

/// What a server says to a request without a token.
#[derive(Clone, Debug, Default)]
pub(crate) enum LoginDemand {
    /// It wants one; this is what it said about that, if anything.
    Login(Option<Challenge>),
    /// It answers.
    #[default]
    Nothing,
}

impl NoToken {
    /// What the server said.
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
