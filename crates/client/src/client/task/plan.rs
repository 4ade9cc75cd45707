//! What it takes to follow a task, and what is owed to the server when nobody follows any more.

use std::time::Duration;

use http::HeaderMap;
use ridethrough_core::message::Json;
use ridethrough_core::{CallName, CallOptions, Request};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Sleep;

use super::super::Client;
use super::time::Time;
use super::{Named, created};
use crate::driver::{Accepts, Caller, DriverCommand};
use crate::model::{self, TaskId, TaskState};

/// What is needed to follow a task.
pub(in crate::client) struct Plan {
    pub(in crate::client) client: Client,
    /// What the task is made of, for messages.
    pub(in crate::client) call: CallName,
    /// The params of the call, where it may have to be made again.
    pub(in crate::client) params: Option<Json>,
    /// Those of the call, which go with every question about its task.
    pub(in crate::client) headers: HeaderMap,
    pub(in crate::client) time: Time,
}

impl Plan {
    pub(super) fn unwanted(&self, id: TaskId) -> Unwanted {
        let (client, headers) = (self.client.clone(), self.headers.clone());
        Unwanted { client, headers, id: Some(id) }
    }

    /// The task in an answer that nobody waits for.
    pub(in crate::client) fn made(&self, answer: &Json) -> Option<TaskState> {
        let asked_for = || model::read(answer.member("task").filter(|_| !self.is_plain())?).ok();
        created(answer).and_then(Result::ok).or_else(asked_for)
    }

    /// Nobody wants this task.
    pub(in crate::client) fn cancel(&self, id: TaskId) {
        drop(self.unwanted(id));
    }

    /// Whether it asks for no task yet.
    pub(in crate::client) fn is_plain(&self) -> bool {
        self.params.as_ref().is_none_or(|params| params.member("task").is_none())
    }

    /// Waits until the time of the call is over. Whoever awaits it may live outside of the runtime.
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

/// Tells the server that nobody wants a task any more, unless it has ended. Best effort, like every
/// cancellation: it is sent once and its fate ignored.
pub(super) struct Unwanted {
    client: Client,
    /// A server that looks at them may know the task by them alone.
    headers: HeaderMap,
    id: Option<TaskId>,
}

impl Unwanted {
    /// Nothing is left to cancel.
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

/// As for every cancellation.
const CANCEL_TIME: Duration = Duration::from_secs(5);
