//! A credentials hook that answers as a test says and records what it was asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::machine::head::Demand;

/// The answer of a hook: a token, none, or that there is no better one.
pub(crate) type Brought = Result<Option<Token>, NoCredentials>;

/// Credentials that record what they were asked. Clones share one record.
#[derive(Clone)]
pub(crate) struct Hook {
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<dyn Fn(usize) -> BoxFuture<'static, Brought> + Send + Sync>,
    /// How long it must not be interrupted after the client has ended.
    finishes_after: Duration,
    is_finished: Arc<AtomicBool>,
}

/// One question to a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Asks for the first token.
    First,
    /// Asks for a better token than this.
    Refused { token: Option<String>, demand: Option<Demand> },
}

impl Asked {
    /// Returns the question for a better token than this one, which the server refused.
    pub(crate) fn instead_of(token: &str) -> Self {
        let demand = Some(Demand::Credentials);
        Self::Refused { token: Some(token.to_owned()), demand }
    }
}

impl Hook {
    /// Creates a hook that answers the question of each number, counted from zero, with this.
    pub(crate) fn new<Answering>(
        answer: impl Fn(usize) -> Answering + Send + Sync + 'static,
    ) -> Self
    where
        Answering: Future<Output = Brought> + Send + 'static,
    {
        Self {
            asked: Arc::default(),
            answer: Arc::new(move |number| Box::pin(answer(number))),
            finishes_after: Duration::ZERO,
            is_finished: Arc::default(),
        }
    }

    /// Creates a hook that brings these tokens one after another, and then no more.
    pub(crate) fn brings(tokens: &'static [&'static str]) -> Self {
        Self::new(move |number| {
            let brought =
                tokens.get(number).map(|token| Some(bearer(token))).ok_or(NoCredentials::new());
            async { brought }
        })
    }

    /// Makes the hook uninterruptible for this time after the client has ended.
    pub(crate) fn finishing_after(self, time: Duration) -> Self {
        Self { finishes_after: time, ..self }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::SeqCst)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Credentials for Hook {
    fn token<'a>(&'a self, refused: Option<Refused<'a>>) -> BoxFuture<'a, Brought> {
        let asked = match refused {
            None => Asked::First,
            Some(refused) => Asked::Refused {
                token: refused.token.map(exposed),
                demand: refused.challenge.map(|it| it.demand.clone()),
            },
        };
        let number = {
            let mut all = self.asked.lock().unwrap();
            all.push(asked);
            all.len() - 1
        };
        (self.answer)(number)
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::time::sleep(self.finishes_after).await;
            self.is_finished.store(true, Ordering::SeqCst);
        })
    }
}

pub(crate) fn bearer(token: &str) -> Token {
    Token::bearer(token).unwrap()
}

fn exposed(token: &Token) -> String {
    let header = token.header().unwrap();
    header.to_str().unwrap().trim_start_matches("Bearer ").to_owned()
}
