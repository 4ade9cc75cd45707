//! An account whose tokens are kept out of everything that is printed.
//!
//! Tokens change while a command runs. Each is named to the masker before it is sent, so that a server which
//! repeats it in an answer does not show it on a terminal.

use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::transport::BoxFuture;
use ridethrough_oauth::Account;

use crate::secrets;

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
