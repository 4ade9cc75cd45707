//! The credentials of commands: the account of a person, and none at all.
//!
//! Every command that talks to a URL takes tokens from a stored login, unless a token is configured. None of
//! them begins a login, because the accounts made here have no person. `ridethrough login` adds one.
//!
//! Tokens change while a command runs. Each is named to the masker before it is sent, so that a server which
//! repeats it in an answer does not show it on a terminal.

mod flags;

use std::sync::{Arc, Mutex, PoisonError};

use ridethrough::credentials::{Challenge, Credentials, NoCredentials, Refused, Token};
use ridethrough::transport::BoxFuture;
use ridethrough_oauth::Account;

use crate::secrets;
pub(crate) use flags::OAuthFlags;

/// An account whose tokens are masked in everything that people see.
#[derive(Clone, Debug)]
pub(crate) struct MaskedAccount(pub(crate) Account);

impl Credentials for MaskedAccount {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        Box::pin(async move {
            let token = self.0.token(refused).await?;
            token.iter().for_each(mask);
            Ok(token)
        })
    }

    fn renewed(&self) -> BoxFuture<'_, Token> {
        Box::pin(async {
            let token = self.0.renewed().await;
            mask(&token);
            token
        })
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        self.0.finish()
    }
}

fn mask(token: &Token) {
    let header = token.header();
    let text = header.as_ref().and_then(|it| it.to_str().ok());
    let secret = text.and_then(|it| it.split_once(' ')).map(|(_, secret)| secret);
    if let Some(secret) = secret {
        secrets::keep_token(secret);
    }
}

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
