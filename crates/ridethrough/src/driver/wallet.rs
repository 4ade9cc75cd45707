//! The token in force, and the one question about a better one.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use ridethrough_core::head::Challenge;
use ridethrough_core::{CredentialsId, NoCredentials};

use crate::credentials::{Credentials, Refused, Token};

/// Holds the token that requests are sent with.
pub(super) struct Wallet {
    hook: Option<Arc<dyn Credentials>>,
    state: State,
}

enum State {
    /// The hook was never asked, or has not answered yet: whoever needs the token asks together.
    Asking(First),
    /// This is what there is.
    Has(Option<Token>),
}

type First = Shared<BoxFuture<'static, Option<Token>>>;

/// What came of asking for better credentials than these.
pub(super) struct Renewed {
    pub(super) rejected: CredentialsId,
    pub(super) token: Result<Option<Token>, NoCredentials>,
}

impl Wallet {
    pub(super) fn new(hook: Option<Arc<dyn Credentials>>) -> Self {
        let state = match hook.clone() {
            None => State::Has(None),
            // A hook that has nothing yet is no reason to fail: the server may not ask for it.
            Some(hook) => State::Asking(
                async move { hook.token(None).await.unwrap_or(None) }.boxed().shared(),
            ),
        };
        Self { hook, state }
    }

    /// The token, or the question whose answer it will be.
    pub(super) fn token(&mut self) -> Result<Option<Token>, First> {
        if let State::Asking(first) = &self.state
            && let Some(token) = first.peek()
        {
            self.state = State::Has(token.clone());
        }
        match &self.state {
            State::Asking(first) => Err(first.clone()),
            State::Has(token) => Ok(token.clone()),
        }
    }

    /// Asks for a better token than the one in force.
    pub(super) fn renew(
        &mut self,
        rejected: CredentialsId,
        challenge: Option<Challenge>,
    ) -> BoxFuture<'static, Renewed> {
        let Some(hook) = self.hook.clone() else {
            return Box::pin(async move { Renewed { rejected, token: Err(NoCredentials) } });
        };
        let token = self.token();
        Box::pin(async move {
            let token = match token {
                Ok(token) => token,
                Err(first) => first.await,
            };
            let refused = Refused { token: token.as_ref(), challenge: challenge.as_ref() };
            let token = hook.token(Some(refused)).await;
            Renewed { rejected, token }
        })
    }

    pub(super) fn keep(&mut self, token: Option<Token>) {
        self.state = State::Has(token);
    }
}
