//! The token in force, and the request for a better one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ridethrough_core::head::Challenge;
use ridethrough_core::{CredentialsId, Link, Moment, NoCredentials};
use tokio::sync::oneshot;
use tokio::time::timeout;

use ridethrough_transport::credentials::{Credentials, Refused, Token};

/// The token that requests are sent with.
pub(super) struct CurrentToken {
    hook: Option<Arc<dyn Credentials>>,
    token: Option<Token>,
    /// Whether the hook has answered before: its first answer may be "none yet".
    has_asked: bool,
    /// The question for a better token that is open.
    question: Option<BoxFuture<'static, Renewed>>,
    /// The question for more scope that is open. The token in force may be renewed meanwhile.
    scope_question: Option<BoxFuture<'static, Renewed>>,
    /// The wait for a token that the hook brings without being asked; one at most. The driver polls here with
    /// each piece of news, and a hook's wait may consist of timers and files: in a set it is polled only when
    /// it wakes.
    unasked: FuturesUnordered<BoxFuture<'static, Renewed>>,
}

/// What the hook returned.
pub(super) struct Renewed {
    pub(super) question: HookQuestion,
    pub(super) token: Result<Option<Token>, NoCredentials>,
}

/// What the hook was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookQuestion {
    /// A better token than the one of these credentials.
    Better(CredentialsId),
    /// A token with more scope.
    Scope,
    /// Nothing: it brings a token of its own accord.
    Unasked,
}

impl HookQuestion {
    /// Tells the machine what the hook returned.
    pub(super) fn answer(self, link: &mut Link, now: Moment, told: Result<(), NoCredentials>) {
        match self {
            Self::Better(than) => link.handle_credentials(now, than, told),
            Self::Scope => link.handle_scope(now, told),
            Self::Unasked => link.handle_credentials(now, link.credentials(), told),
        }
    }
}

impl CurrentToken {
    pub(super) fn new(hook: Option<Arc<dyn Credentials>>) -> Self {
        let unasked = FuturesUnordered::new();
        let (question, scope_question) = (None, None);
        Self { hook, token: None, has_asked: false, question, scope_question, unasked }
    }

    pub(super) const fn has_hook(&self) -> bool {
        self.hook.is_some()
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.token.clone()
    }

    /// Asks for a better token than the one in force, or for the first one.
    pub(super) fn renew(
        &mut self,
        rejected: CredentialsId,
        challenge: Option<Challenge>,
        is_suspicion: bool,
    ) {
        // Nothing polls it while a question is open, and it may hold a lock that the answer needs.
        self.unasked.clear();
        self.question = Some(self.ask(HookQuestion::Better(rejected), challenge, is_suspicion));
    }

    /// Asks for a token with more scope than the one in force.
    pub(super) fn request_scope(&mut self, challenge: Challenge) {
        self.scope_question = Some(self.ask(HookQuestion::Scope, Some(challenge), false));
    }

    fn ask(
        &self,
        question: HookQuestion,
        challenge: Option<Challenge>,
        is_suspicion: bool,
    ) -> BoxFuture<'static, Renewed> {
        let (hook, token, has_asked) = (self.hook.clone(), self.token.clone(), self.has_asked);
        let asking = async move {
            match hook {
                None => Err(NoCredentials::without_token()),
                // A hook without a token yet is no failure: the server may not ask for one.
                Some(hook) if !has_asked => Ok(hook.token(None).await.unwrap_or(None)),
                Some(hook) => {
                    let (token, challenge) = (token.as_ref(), challenge.as_ref());
                    hook.token(Some(Refused::new(token, challenge, is_suspicion))).await
                }
            }
        };
        Box::pin(async move {
            // A hook that panics has failed, but must not end the link.
            let brought = AssertUnwindSafe(asking).catch_unwind().await;
            Renewed {
                question,
                token: brought.unwrap_or_else(|_| Err(NoCredentials::because("the hook panicked"))),
            }
        })
    }

    /// Polls the hook: for the answer to a question that is open, else for a token that it brings unasked.
    pub(super) fn poll_renewed(&mut self, context: &mut Context<'_>) -> Poll<Renewed> {
        for question in [&mut self.question, &mut self.scope_question] {
            let polled = question.as_mut().map(|it| it.as_mut().poll(context));
            if let Some(answered @ Poll::Ready(_)) = polled {
                *question = None;
                return answered;
            }
        }
        if self.question.is_some() {
            return Poll::Pending;
        }
        let Some(hook) = self.hook.as_ref().filter(|_| self.has_asked) else {
            return Poll::Pending;
        };
        if self.unasked.is_empty() {
            self.unasked.push(unasked(hook.clone()));
        }
        match self.unasked.poll_next_unpin(context) {
            Poll::Ready(Some(renewed)) => Poll::Ready(renewed),
            _ => Poll::Pending,
        }
    }

    /// Drops these channels once the hook has finished the work that must not be interrupted.
    pub(super) fn finish(&self, closers: Vec<oneshot::Sender<()>>) {
        let Some(hook) = self.hook.clone() else { return };
        tokio::spawn(async move {
            // A hook that panics has nothing more to do, and one that does not end is left to itself.
            let finishing = AssertUnwindSafe(async { hook.finish().await }).catch_unwind();
            let _ = timeout(FINISH_WITHIN, finishing).await;
            drop(closers);
        });
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

/// Waits for a token that the hook brings unasked; for ever if the hook panics.
fn unasked(hook: Arc<dyn Credentials>) -> BoxFuture<'static, Renewed> {
    Box::pin(async move {
        match AssertUnwindSafe(hook.renewed()).catch_unwind().await {
            Ok(token) => Renewed { question: HookQuestion::Unasked, token: Ok(Some(token)) },
            Err(_) => std::future::pending().await,
        }
    })
}

/// How long the hook may take to finish: a refresh takes 10 s at most.
const FINISH_WITHIN: Duration = Duration::from_secs(15);

/// How the hook's token compares with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenChange {
    /// Another token, perhaps of another person.
    Another,
    /// An equal token, or the first one.
    AsBefore,
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::sync::Mutex;

    use super::*;

    /// A hook that writes to a store under a lock, and reads it under that lock when it is asked.
    struct Locking(Mutex<()>);

    impl Credentials for Locking {
        fn token<'a>(
            &'a self,
            _: Option<Refused<'a>>,
        ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
            Box::pin(async {
                let _lock = self.0.lock().await;
                Ok(Token::bearer("better").ok())
            })
        }

        fn renewed(&self) -> BoxFuture<'_, Token> {
            Box::pin(async {
                let _lock = self.0.lock().await;
                std::future::pending().await
            })
        }
    }

    /// It was kept and not polled: in a simulated world two processes waited for each other for ever.
    #[tokio::test(start_paused = true)]
    async fn a_question_ends_the_wait_for_a_token_that_nobody_asked_for() {
        let mut token = CurrentToken::new(Some(Arc::new(Locking(Mutex::new(())))));
        token.keep(None);
        let waiting = poll_fn(|context| token.poll_renewed(context)).now_or_never();
        assert!(waiting.is_none());

        token.renew(CredentialsId::new(0), None, false);

        let asking = poll_fn(|context| token.poll_renewed(context));
        let brought = timeout(Duration::from_secs(60), asking).await.expect("it holds the lock");
        assert!(brought.token.unwrap().is_some());
    }
}
