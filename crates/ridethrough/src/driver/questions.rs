//! The server's questions that handlers are working on.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use ridethrough_core::QuestionId;
use ridethrough_core::message::{Answer, Json};
use tokio::task::{AbortHandle, JoinSet};

use crate::handlers::Handlers;
use crate::model::Root;

/// Runs a task for each question. Dropping it drops them all.
pub(super) struct Questions {
    handlers: Handlers,
    running: JoinSet<(QuestionId, Answer)>,
    tasks: BTreeMap<QuestionId, AbortHandle>,
}

impl Questions {
    pub(super) fn new(handlers: Handlers) -> Self {
        Self { handlers, running: JoinSet::new(), tasks: BTreeMap::new() }
    }

    pub(super) fn set_roots(&mut self, roots: &[Root]) {
        self.handlers.set_roots(roots);
    }

    /// Gives a question to its handler. False if there is none for it.
    pub(super) fn take(&mut self, id: QuestionId, method: &str, params: Option<&Json>) -> bool {
        // The handler itself may panic before it gives a future.
        let answering = AssertUnwindSafe(|| self.handlers.answer(method, params.cloned()));
        let answering = match std::panic::catch_unwind(answering) {
            Ok(None) => return false,
            Ok(Some(answering)) => answering,
            Err(_) => Box::pin(std::future::ready(panicked())),
        };
        let answering = async move {
            let answer = AssertUnwindSafe(answering).catch_unwind().await;
            (id, answer.unwrap_or_else(|_| panicked()))
        };
        self.tasks.insert(id, self.running.spawn(answering));
        true
    }

    /// Nobody wants the answer any more. False if no handler works on it.
    pub(super) fn withdraw(&mut self, id: QuestionId) -> bool {
        let task = self.tasks.remove(&id);
        if let Some(task) = &task {
            task.abort();
        }
        task.is_some()
    }

    /// Waits for the next answer of a handler.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<(QuestionId, Answer)> {
        while let Poll::Ready(Some(ended)) = self.running.poll_join_next(context) {
            // One that was withdrawn was aborted, and has no answer.
            if let Ok((id, answer)) = ended
                && self.tasks.remove(&id).is_some()
            {
                return Poll::Ready((id, answer));
            }
        }
        Poll::Pending
    }
}

fn panicked() -> Answer {
    Answer::refusal(-32603, "the handler of this request panicked")
}
