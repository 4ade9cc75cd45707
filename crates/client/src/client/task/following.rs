//! A task that is followed by a tokio task, so that it goes on whether or not its future is polled.

use std::pin::Pin;
use std::task::{Context, Poll};

use ridethrough_core::CallName;
use ridethrough_wire::message::Json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::super::gone;
use super::Born;
use super::asking::make_required;
use super::follow::Follower;
use super::plan::{Plan, Unwanted};
use crate::error::Error;
use crate::model::{TaskId, TaskState};

/// A task that is being followed. Dropping it stops that.
pub(super) struct Following {
    running: JoinHandle<Result<Json, Error>>,
    call: CallName,
}

impl Plan {
    /// Follows the task of a call. The server is told to cancel it if this is dropped before its end, because
    /// no other handle to it exists.
    pub(super) fn follow_or_cancel(mut self, state: TaskState) -> Following {
        // The call made progress by becoming a task. How far progress extended its deadline before that, only
        // the state machine knows.
        self.time.extend();
        let unwanted = self.unwanted(state.id.clone());
        let id = state.id.clone();
        self.start(id, Some(Born { state, at: Instant::now() }), Some(unwanted))
    }

    /// Makes the call again as a task, because the server may have refused it for not being one.
    ///
    /// A refusal for another reason, such as a tool that does not exist, ends it with that error.
    pub(super) fn call_as_task(self, refusal: Error) -> Following {
        let call = self.call.clone();
        let running = self.runtime().spawn(async move {
            let Some(state) = make_required(&self).await? else { return Err(refusal) };
            self.follow_or_cancel(state).await
        });
        Following { running, call }
    }

    pub(super) fn follow(self, id: TaskId, born: Option<Born>) -> Following {
        self.start(id, born, None)
    }

    fn start(self, id: TaskId, born: Option<Born>, unwanted: Option<Unwanted>) -> Following {
        let call = self.call.clone();
        let running = self.runtime().spawn(Follower::new(self, id, unwanted).run(born));
        Following { running, call }
    }
}

impl Future for Following {
    type Output = Result<Json, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = std::task::ready!(Pin::new(&mut self.running).poll(context));
        // It ends without a result only if its runtime is shut down.
        Poll::Ready(ended.unwrap_or_else(|_| Err(gone(self.call.method.clone()).into())))
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.running.abort();
    }
}
