//! Tokens from a function of the application.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::transport::BoxFuture;
use serde_json::json;
use tokio::sync::oneshot;

use crate::queue::{Item, ItemKind, Queue};

/// The questions for a token that Python has not answered.
pub(crate) struct TokenRequests {
    queue: Arc<Queue>,
    open: Mutex<HashMap<u64, oneshot::Sender<Provided>>>,
    next: AtomicU64,
}

/// The token that the application's function returned, or the reason why there is none.
pub(crate) type Provided = Result<Option<String>, String>;

impl TokenRequests {
    pub(crate) fn new(queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self { queue, open: Mutex::default(), next: AtomicU64::new(1) })
    }

    pub(crate) fn answer(&self, number: u64, provided: Provided) {
        // The question may no longer be open.
        if let Some(open) = self.open().remove(&number) {
            let _ = open.send(provided);
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Provided>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The credentials of a client whose tokens Python provides.
pub(crate) struct AskedTokens(pub(crate) Arc<TokenRequests>);

impl Credentials for AskedTokens {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (sender, provided) = oneshot::channel();
        self.0.open().insert(number, sender);
        let challenge = refused.and_then(|it| it.challenge).map(|it| it.header.to_string());
        let question = json!({ "refused": refused.is_some(), "challenge": challenge });
        self.0.queue.push(Item::new(ItemKind::Token, number, question.to_string()));
        Box::pin(async move {
            let provided = provided.await.unwrap_or_else(|_| Err("the client is gone".to_owned()));
            let text = provided.map_err(NoCredentials::because)?;
            let token = text.map(|text| read(&text)).transpose();
            let token = token.map_err(|error| NoCredentials::because(error.to_string()))?;
            match &token {
                Some(token)
                    if refused.and_then(|it| it.token).is_some_and(|it| it.is_same(token)) =>
                {
                    Err(NoCredentials::because("`token` returned the token that was refused"))
                }
                _ => Ok(token),
            }
        })
    }
}

/// Reads a bearer token, or a whole value of `Authorization` if it names a scheme.
pub(crate) fn read(text: &str) -> Result<Token, ridethrough::credentials::NotAToken> {
    if text.trim().contains(' ') { Token::authorization(text) } else { Token::bearer(text.trim()) }
}
