//! Making a task of a call, at once or when the server refuses it for not being one.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::super::Call;
use super::asking::{ask_for_task, support_in_time};
use super::plan::Plan;
use super::result::PendingResult;
use super::{About, Born, Task, UNDECLARED, created};
use crate::error::Error;
use crate::model::{self, TaskSupport, ToolResult};

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

impl<T> Call<T> {
    /// Asks the server to make a task of the call, where the server and the tool support it, and returns the
    /// task instead of its result. Only for [`call_tool`](crate::Client::call_tool); see [`ClientBuilder::tasks`].
    ///
    /// ```no_run
    /// # async fn example(client: ridethrough::Client) -> Result<(), ridethrough::Error> {
    /// use ridethrough::task::Begun;
    ///
    /// match client.call_tool("build", ()).as_task().await? {
    ///     Begun::Answered(result) => println!("at once: {}", result.text()),
    ///     Begun::Task(task) => {
    ///         println!("{:?}", task.status().await?.status);
    ///         println!("{}", task.result().await?.text());
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// [`ClientBuilder::tasks`]: crate::ClientBuilder::tasks
    pub const fn as_task(self) -> TaskCall<T> {
        TaskCall { call: self, kept_for: None }
    }
}

impl<T> TaskCall<T> {
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
        if call.fault.is_some() {
            return call.await.map(Begun::Answered);
        }
        let support = support_in_time(&plan).await?;
        // The time that this took is part of the call's time.
        if let Some(left) = plan.time.left() {
            call = call.timeout(left);
        }
        let is_asked = support != TaskSupport::Forbidden;
        if is_asked {
            let params = call.request.params.take();
            call.request.params = params.map(|params| ask_for_task(&params, kept_for));
        }
        let read = call.read;
        let (client, name) = (plan.client.clone(), plan.call.clone());
        let headers = plan.headers.clone();
        let plan = Plan { params: call.request.params.clone(), ..plan };
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
