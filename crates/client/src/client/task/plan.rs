//! What is needed to follow a task, and the cancellation when it is no longer followed.

use std::time::Duration;

use http::HeaderMap;
use ridethrough_core::{CallName, CallOptions, Request};
use ridethrough_wire::message::Json;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Sleep;

use super::super::Client;
use super::time::Time;
use super::{Named, created};
use crate::driver::{Accepts, Caller, DriverCommand};
use crate::model::{self, TaskId, TaskState};

/// What is needed to follow a task.
pub(super) struct Plan {
    pub(super) client: Client,
    /// The call that became the task, for error messages.
    pub(super) call: CallName,
    /// The params of the call, if it may have to be made again.
    pub(super) params: Option<Json>,
    /// The headers of the call, which go with every question about its task.
    pub(super) headers: HeaderMap,
    pub(super) time: Time,
}

impl Plan {
    pub(super) fn unwanted(&self, id: TaskId) -> Unwanted {
        let (client, headers) = (self.client.clone(), self.headers.clone());
        Unwanted { client, headers, id: Some(id) }
    }

    /// Returns the task in an answer whose call was dropped.
    pub(super) fn made(&self, answer: &Json) -> Option<TaskState> {
        let asked_for = || model::read(answer.member("task").filter(|_| !self.is_plain())?).ok();
        created(answer).and_then(Result::ok).or_else(asked_for)
    }

    /// Cancels a task that no caller wants.
    pub(super) fn cancel(&self, id: TaskId) {
        drop(self.unwanted(id));
    }

    /// Whether the call asks for no task.
    pub(super) fn is_plain(&self) -> bool {
        self.params.as_ref().is_none_or(|params| params.member("task").is_none())
    }

    /// Waits until the time of the call is over. It can be awaited outside of the client's runtime.
    pub(super) fn over(&self) -> Option<Sleep> {
        let runtime = self.runtime();
        let _inside = runtime.enter();
        self.time.until.map(tokio::time::sleep_until)
    }

    pub(super) fn runtime(&self) -> Handle {
        let tasks = self.client.tasks.as_ref();
        tasks.expect("only a client that declared tasks follows them").runtime.clone()
    }
}

/// Cancels a task at the server when it is dropped, unless the task has ended. Best effort, like every
/// cancellation: it is sent once and its outcome ignored.
pub(super) struct Unwanted {
    client: Client,
    /// A server may identify the caller, and so the task, by these headers alone.
    headers: HeaderMap,
    id: Option<TaskId>,
}

impl Unwanted {
    /// Notes that nothing is left to cancel.
    pub(super) fn disarm(&mut self) {
        self.id = None;
    }
}

impl Drop for Unwanted {
    fn drop(&mut self) {
        let Some(task_id) = &self.id else { return };
        let params = Json::of(&Named { task_id }).expect("a string is JSON");
        let (deadline, headers) = (Some(CANCEL_TIME), std::mem::take(&mut self.headers).into());
        let options = CallOptions { deadline, headers, ..CallOptions::default() };
        let request = Request { method: "tasks/cancel".into(), params: Some(params), options };
        let (reply, _) = oneshot::channel();
        let caller = Caller { number: self.client.next_call(), reply, progress: None, track: None };
        self.client.command(DriverCommand::Send { caller, request, accepts: Accepts::Fresh });
    }
}

/// How long the cancellation of a task may take, as long as any cancellation.
const CANCEL_TIME: Duration = Duration::from_secs(5);
