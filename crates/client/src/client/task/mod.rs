//! Tasks: calls that a server answers at once and continues in the background.
//!
//! A handle is an id and a client: nothing is lost when it is dropped, and another client can take up the id.
//! A task is followed by asking for it again and again, by ordinary calls with their ordinary recovery.
//!
//! ```text
//!   result  the wait for a result, of a call or of its task
//!   begin   making a task        asking     asking a legacy server for one
//!   follow  asking for it until it ends, in the background: following
//!   inputs  what it asks for     plan       what following needs, and cancelling when it is dropped
//!   time    how long it is followed, and how often it is asked for
//! ```

mod asking;
mod begin;
mod follow;
mod following;
mod inputs;
mod plan;
mod result;
mod time;

pub use begin::{Begun, TaskCall};
pub use result::{PendingResult, PendingSourced};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use ridethrough_core::CallName;
use ridethrough_wire::message::Json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::{Call, Client, List, Params, ReadResult};
use crate::error::Error;
use crate::model::{self, TaskId, TaskState, ToolResult};

use plan::Plan;
use time::Time;

/// How a client follows tasks.
#[derive(Clone)]
pub(crate) struct Tasks {
    /// The runtime of the client's driver. A result may be awaited on another.
    pub(crate) runtime: Handle,
    /// The time of a tool call that has no timeout of its own.
    pub(crate) time: Duration,
}

/// A call that its server continues in the background. Created by [`Call::as_task`], or from its id by
/// [`Client::task`].
///
/// Dropping it, or a wait for its result, does not stop the task: only [`cancel`](Self::cancel) does.
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use ridethrough::model::TaskId;
///
/// // What an earlier life of this program has stored.
/// let id: TaskId = std::fs::read_to_string("build.task")?.parse()?;
/// println!("{}", client.task(id).result().await?.text());
/// # Ok(()) }
/// ```
pub struct Task<T = ToolResult> {
    about: Arc<About>,
    read: ReadResult<T>,
}

/// What a handle knows of its task.
struct About {
    client: Client,
    id: TaskId,
    call: CallName,
    headers: HeaderMap,
    born: Option<Born>,
}

/// The server's description of a task when it was made, and the moment of that.
#[derive(Clone)]
struct Born {
    state: TaskState,
    at: Instant,
}

impl Client {
    /// Returns a handle to a task of this server by its id, which [`Task::id`] returned to this client or
    /// another.
    pub fn task(&self, id: TaskId) -> Task {
        let call = CallName { method: "tools/call".into(), tool: None };
        let (client, headers) = (self.clone(), HeaderMap::new());
        Task::new(About { client, id, call, headers, born: None }, model::read)
    }

    /// Lists the tasks of the server. Only servers of 2025-11-25 can list them, and not all do.
    pub fn tasks(&self) -> List<TaskState> {
        List::new(self.clone())
    }

    /// Creates a call about a task.
    fn ask_task<T>(
        &self,
        method: &'static str,
        params: &impl Serialize,
        read: ReadResult<T>,
    ) -> Call<T> {
        let params = Json::of(params).expect("made of JSON and strings");
        let call = Call::new(self.clone(), method.into(), Params::from(params), read);
        match self.tasks {
            Some(_) => call,
            None => call.unfit(UNDECLARED.to_owned()),
        }
    }
}

impl<T> Task<T> {
    fn new(about: About, read: ReadResult<T>) -> Self {
        Self { about: Arc::new(about), read }
    }

    /// Returns the task's id, to be stored. With it, the result can be had after a restart of the program.
    pub fn id(&self) -> &TaskId {
        &self.about.id
    }

    /// Asks once for the task's state. A server that does not know the task answers with -32602.
    pub fn status(&self) -> Call<TaskState> {
        let About { client, id, headers, .. } = &*self.about;
        let call = client.ask_task("tasks/get", &Named { task_id: id }, model::read);
        call.with_headers(headers.clone())
    }

    /// Asks the server to stop the task. The server decides whether and when it does;
    /// [`result`](Self::result) reports the end.
    pub fn cancel(&self) -> Call<()> {
        let About { client, id, headers, .. } = &*self.about;
        let call = client.ask_task("tasks/cancel", &Named { task_id: id }, |_| Ok(()));
        call.with_headers(headers.clone())
    }

    /// Sends the inputs that the server asks for, by the keys of its `inputRequests`. This is not needed
    /// while the [`result`](Self::result) is awaited: then the client's handlers answer.
    pub fn update<K: Into<String>>(&self, inputs: impl IntoIterator<Item = (K, Json)>) -> Call<()> {
        let inputs = inputs.into_iter().map(|(key, json)| (key.into(), json));
        let responses = Json::empty_object().with_members(inputs);
        let About { client, id, headers, .. } = &*self.about;
        let params = Update { task_id: id, input_responses: &responses };
        let call = client.ask_task("tasks/update", &params, |_| Ok(()));
        call.with_headers(headers.clone())
    }

    /// Waits for the result, asking at the rate that the server wants. Input that the server asks for
    /// meanwhile is given by the client's handlers.
    ///
    /// Without a [`timeout`](TaskWait::timeout) it waits for as long as the server says that the task goes
    /// on, and gives up when its questions have had no answer for as long as a tool call may take: 10
    /// minutes.
    pub fn result(&self) -> TaskWait<'_, T> {
        TaskWait { task: self, deadline: None }
    }

    /// Reads the result as type `U`.
    pub fn typed<U: DeserializeOwned>(self) -> Task<U> {
        Task { about: self.about, read: |result| serde_json::from_slice(result.as_bytes()) }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", self.id()).finish_non_exhaustive()
    }
}

/// A wait for the result of a task that has not begun.
#[must_use = "a task is waited for when this is awaited"]
pub struct TaskWait<'a, T = ToolResult> {
    task: &'a Task<T>,
    deadline: Option<Duration>,
}

impl<T> TaskWait<'_, T> {
    /// Sets how long to wait. The task goes on after that.
    pub const fn timeout(mut self, time: Duration) -> Self {
        self.deadline = Some(time);
        self
    }
}

impl<T: 'static> IntoFuture for TaskWait<'_, T> {
    type Output = Result<T, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let About { client, id, call, headers, born } = &*self.task.about;
        let Some(tasks) = &client.tasks else {
            // Nothing is sent: the call ends with the reason.
            let status = self.task.status().into_future();
            return status.map(|refused| Err(refused.expect_err("it cannot be sent"))).boxed();
        };
        let time = Time::of_wait(self.deadline, tasks.time);
        let (client, call, headers) = (client.clone(), call.clone(), headers.clone());
        let following =
            Plan { client, call, params: None, headers, time }.follow(id.clone(), born.clone());
        let read = self.task.read;
        let result = following.map(move |result| {
            let result = result?;
            // A clone of the text shares its bytes.
            read(result.clone()).map_err(|source| Error::Answer {
                method: "tasks/get".into(),
                result,
                source: source.into(),
            })
        });
        result.boxed()
    }
}

impl<T> fmt::Debug for TaskWait<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskWait").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// Returns the task in an answer to `tools/call`, if the answer is one.
fn created(answer: &Json) -> Option<Result<TaskState, serde_json::Error>> {
    let kind: Option<String> = answer.member("resultType").and_then(|kind| kind.read());
    (kind.as_deref() == Some("task")).then(|| model::read(answer.clone()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Named<'a> {
    task_id: &'a TaskId,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    task_id: &'a TaskId,
    input_responses: &'a Json,
}

const UNDECLARED: &str =
    "the server was not told that this client follows tasks: see `ClientBuilder::tasks`";
