//! Making a task of a call.
//!
//! A stateless server decides by itself, so the call goes out unchanged. A server of 2025-11-25 must be asked
//! for a task, and only if it declares tasks and the tool supports them.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use ridethrough_core::{CallError, Delivery, Era, Kind, Reason, Rule, Status};
use ridethrough_wire::message::Json;
use tokio::time::Instant;

use super::super::{Call, Client, Params, PendingResult, result};
use super::plan::Plan;
use super::{About, Born, Task, UNDECLARED, created};
use crate::error::Error;
use crate::model::{self, TaskState, TaskSupport, Tool, ToolResult};

/// A call that may become a task and has not begun. Created by [`Call::as_task`].
#[must_use = "a call begins when it is awaited or turned into a future"]
pub struct TaskCall<T = ToolResult> {
    call: Call<T>,
    kept_for: Option<Duration>,
}

/// The outcome of a call that may become a task.
#[derive(Debug)]
pub enum Begun<T = ToolResult> {
    /// The server made no task of the call; this is its result.
    Answered(T),
    /// The server continues the call as a task.
    Task(Task<T>),
}

impl<T: 'static> Begun<T> {
    /// Waits for the result, of the call or of its task.
    pub async fn result(self) -> Result<T, Error> {
        match self {
            Self::Answered(result) => Ok(result),
            Self::Task(task) => task.result().await,
        }
    }
}

impl<T> TaskCall<T> {
    pub(in crate::client) const fn new(call: Call<T>) -> Self {
        Self { call, kept_for: None }
    }

    /// Asks the server to keep the task and its result for this long. Only servers of 2025-11-25 can be
    /// asked, and they may decide otherwise.
    pub const fn kept_for(mut self, time: Duration) -> Self {
        self.kept_for = Some(time);
        self
    }

    async fn begin(self) -> Result<Begun<T>, Error> {
        let Self { mut call, kept_for } = self;
        let Some(plan) = call.plan() else {
            let fault =
                if call.is_tool_call() { UNDECLARED } else { "only calls of tools can be tasks" };
            // Nothing is sent: the call ends with the reason.
            return call.unfit(fault.to_owned()).await.map(Begun::Answered);
        };
        if call.is_unfit() {
            return call.await.map(Begun::Answered);
        }
        let support = support_in_time(&plan).await?;
        // The time that this took is part of the call's time.
        if let Some(left) = plan.time.left() {
            call = call.timeout(left);
        }
        let is_asked = support != TaskSupport::Forbidden;
        if is_asked {
            let with_task = call.params().take().map(|params| ask_for_task(&params, kept_for));
            *call.params() = with_task;
        }
        let read = call.reader();
        let (client, name) = (plan.client.clone(), plan.call.clone());
        let headers = plan.headers.clone();
        let plan = Plan { params: call.params().clone(), ..plan };
        let json = PendingResult::new(call.answer(), Some(plan), read).unfollowed().await?;
        let task = match json.member("task").filter(|_| is_asked) {
            Some(task) => Some(model::read(task)),
            None => created(&json),
        };
        let unreadable = |source: serde_json::Error| {
            let (method, result) = (name.method.clone(), json.clone());
            Error::Answer { method, result, source: source.into() }
        };
        let Some(state) = task.transpose().map_err(unreadable)? else {
            return read(json.clone()).map(Begun::Answered).map_err(unreadable);
        };
        let id = state.id.clone();
        let born = Some(Born { state, at: Instant::now() });
        Ok(Begun::Task(Task::new(About { client, id, call: name, headers, born }, read)))
    }
}

impl<T: 'static> IntoFuture for TaskCall<T> {
    type Output = Result<Begun<T>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.begin())
    }
}

impl<T> fmt::Debug for TaskCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskCall").field(&self.call).finish()
    }
}

/// Whether the server says that it was asked in the wrong form. For a tool that requires a task, 2025-11-25
/// names one of these codes on one page and the other on the next.
pub(in crate::client) fn is_refused_form(error: &Error) -> bool {
    error.server().is_some_and(|error| matches!(error.rpc.code, -32601 | -32600))
}

/// Makes a task of a call that was refused because it asked for none. `None` if it was refused for another
/// reason.
pub(super) async fn make_required(plan: &Plan) -> Result<Option<TaskState>, Error> {
    // If the reason cannot be found out, the server's refusal stands.
    let support = support_in_time(plan).await.unwrap_or_default();
    let Some(params) = plan.params.as_ref().filter(|_| support == TaskSupport::Required) else {
        return Ok(None);
    };
    let params = Params::from(ask_for_task(params, None));
    let call = Call::new(plan.client.clone(), plan.call.method.clone(), params, |result: Json| {
        let missing = || serde::de::Error::missing_field("task");
        model::read(result.member("task").ok_or_else(missing)?)
    });
    let call = call.with_headers(plan.headers.clone());
    match plan.time.left() {
        Some(left) => call.timeout(left).await,
        None => call.await,
    }
    .map(Some)
}

/// Finds out whether to ask for a task, within the call's time.
async fn support_in_time(plan: &Plan) -> Result<TaskSupport, Error> {
    let asking = legacy_support(&plan.client, plan.call.tool.as_deref());
    let Some(over) = plan.over() else { return asking.await };
    match select(pin!(asking), pin!(over)).await {
        Either::Left((support, _)) => support,
        Either::Right(((), _)) => {
            let reason = Reason::Rule(Rule::TasksUnknown);
            let (kind, call) = (Kind::DeadlinePassed, plan.call.clone());
            let mut error = CallError::new(kind, Delivery::NotSent, call, reason);
            error.elapsed = plan.time.began.elapsed();
            Err(error.into())
        }
    }
}

/// Whether the server wants to be asked for a task, and the tool supports it. A stateless server decides by
/// itself.
async fn legacy_support(client: &Client, tool: Option<&str>) -> Result<TaskSupport, Error> {
    let era = |status: Option<Status>| status.map(|it| (it.era, it.version.is_some()));
    if era(client.status().await) == Some((Era::Modern, true)) {
        return Ok(TaskSupport::Forbidden);
    }
    // This makes a session if none is in force, and the era is known with it.
    let server = result(client.handshake(None).await)?;
    let has_tasks = ["capabilities", "tasks", "requests", "tools", "call"]
        .iter()
        .try_fold(server, |json, name| json.member(name))
        .is_some();
    let is_legacy = era(client.status().await).is_some_and(|(era, _)| era == Era::Legacy);
    let Some(tool) = tool.filter(|_| is_legacy && has_tasks) else {
        return Ok(TaskSupport::Forbidden);
    };
    let tools: Vec<Tool> = client.tools().await?;
    // A tool that is not listed declares no support.
    let named = tools.iter().find(|it| it.name == tool);
    Ok(named.map_or(TaskSupport::Forbidden, |it| it.task_support))
}

/// Returns the params with a request for a task. A request that is already there stays.
fn ask_for_task(params: &Json, kept_for: Option<Duration>) -> Json {
    if params.member("task").is_some() {
        return params.clone();
    }
    let millis = kept_for.map(|time| time.as_millis().to_string());
    let ttl = millis.and_then(|millis| Json::new(millis).ok()).map(|ttl| ("ttl".to_owned(), ttl));
    let task = Json::empty_object().with_members(ttl);
    params.with_members([("task".to_owned(), task)])
}
