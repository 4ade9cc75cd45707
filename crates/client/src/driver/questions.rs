//! The server's questions that handlers are working on.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use ridethrough_core::QuestionId;
use ridethrough_wire::message::{Answer, Json};
use tokio::task::{AbortHandle, JoinSet};

use super::command::Answering;
use crate::handlers::Handlers;
use crate::model::Root;

/// Runs a task for each question. Dropping it aborts them all.
pub(super) struct Questions {
    handlers: Handlers,
    running: JoinSet<(QuestionId, Answer)>,
    tasks: BTreeMap<QuestionId, QuestionTask>,
    /// How many bytes the open questions have, and how many they may have.
    held: usize,
    room: usize,
}

struct QuestionTask {
    abort: AbortHandle,
    bytes: usize,
}

/// The result of giving a question to its handler.
pub(super) enum Taking {
    Begun,
    /// There is no handler for it.
    NoHandler,
    /// The open questions hold as many bytes as they may.
    NoRoom,
}

impl Questions {
    /// Creates the set; the open questions may hold `room` bytes at once.
    pub(super) fn new(handlers: Handlers, room: usize) -> Self {
        Self { handlers, running: JoinSet::new(), tasks: BTreeMap::new(), held: 0, room }
    }

    pub(super) fn set_roots(&mut self, roots: &[Root]) {
        self.handlers.set_roots(roots);
    }

    /// Returns the handler's future for a question, for the caller to run.
    pub(super) fn answering(&self, method: &str, params: Option<Json>) -> Answering {
        let answering = self.handlers.answer(method, params)?;
        Some(Box::pin(guarded(answering)))
    }

    /// Gives a question to its handler.
    pub(super) fn take(&mut self, id: QuestionId, method: &str, params: Option<&Json>) -> Taking {
        let Some(answering) = self.handlers.answer(method, params.cloned()) else {
            return Taking::NoHandler;
        };
        let bytes = params.map_or(0, |params| params.as_bytes().len());
        if self.held.saturating_add(bytes) > self.room {
            return Taking::NoRoom;
        }
        let answering = async move { (id, guarded(answering).await) };
        self.held += bytes;
        self.tasks.insert(id, QuestionTask { abort: self.running.spawn(answering), bytes });
        Taking::Begun
    }

    /// Aborts the handler of a question whose answer is no longer wanted. Returns false if no handler works
    /// on it.
    pub(super) fn withdraw(&mut self, id: QuestionId) -> bool {
        let task = self.forget(id);
        if let Some(task) = &task {
            task.abort.abort();
        }
        task.is_some()
    }

    fn forget(&mut self, id: QuestionId) -> Option<QuestionTask> {
        let task = self.tasks.remove(&id)?;
        self.held -= task.bytes;
        Some(task)
    }

    /// Waits for the next answer of a handler.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<(QuestionId, Answer)> {
        while let Poll::Ready(Some(ended)) = self.running.poll_join_next(context) {
            // A withdrawn question was aborted, and has no answer.
            if let Ok((id, answer)) = ended
                && self.forget(id).is_some()
            {
                return Poll::Ready((id, answer));
            }
        }
        Poll::Pending
    }
}

/// Runs a handler; one that panics has refused.
async fn guarded(answering: impl Future<Output = Answer>) -> Answer {
    let answer = AssertUnwindSafe(answering).catch_unwind().await;
    answer.unwrap_or_else(|_| Answer::refusal(-32603, "the handler of this request panicked"))
}
