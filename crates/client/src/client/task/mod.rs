//! Tasks: calls that a server answers at once and goes on with.
//!
//! A handle is a name and a client: nothing is lost when it is dropped, and the name can be given back to
//! another client. Following a task is asking for it, again and again, by calls like any other; so each
//! of them is recovered like any other.
//!
//! ```text
//!   begin   making a task        follow   asking for it until it ends
//!   inputs  what it asks of us   plan     who follows, and what happens when nobody does
//!   time    how long that may take, and how often
//! ```

mod begin;
mod follow;
mod following;
mod inputs;
mod plan;
mod time;

pub(super) use begin::is_refused_form;
pub use begin::{Begun, TaskCall};
pub(super) use following::Following;
pub(super) use plan::Plan;
pub(super) use time::Time;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use ridethrough_core::CallName;
use ridethrough_core::message::Json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::call::ReadResult;
use super::{Call, Client, List, Params};
use crate::error::Error;
use crate::model::{self, TaskId, TaskState, ToolResult};

/// How a client follows tasks.
#[derive(Clone)]
pub(crate) struct Tasks {
    /// Where its driver lives: whoever awaits a result may live elsewhere.
    pub(crate) runtime: Handle,
    /// The time of a tool call that was given none.
    pub(crate) time: Duration,
}

/// A call that its server goes on with. Made by [`Call::as_task`], or from its name by [`Client::task`].
///
/// Dropping it, or a wait for its result, changes nothing: only [`cancel`](Self::cancel) does.
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

/// What is known of a task here.
struct About {
    client: Client,
    id: TaskId,
    call: CallName,
    headers: HeaderMap,
    born: Option<Born>,
}

/// What the server said when it made a task, and when.
#[derive(Clone)]
struct Born {
    state: TaskState,
    at: Instant,
}

impl Client {
    /// A task of this server by its name, as [`Task::id`] gave it, to this client or another.
    pub fn task(&self, id: TaskId) -> Task {
        let call = CallName { method: "tools/call".into(), tool: None };
        let (client, headers) = (self.clone(), HeaderMap::new());
        Task::new(About { client, id, call, headers, born: None }, model::read)
    }

    /// The tasks of the server. Only servers of 2025-11-25 can list them, and not all do.
    pub fn tasks(&self) -> List<TaskState> {
        List::new(self.clone())
    }

    /// Asks something about a task.
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

    /// Its name, to be stored. With it, the result can be had after this program has been restarted.
    pub fn id(&self) -> &TaskId {
        &self.about.id
    }

    /// Asks where it stands, once. A server that does not know it answers with -32602.
    pub fn status(&self) -> Call<TaskState> {
        let About { client, id, headers, .. } = &*self.about;
        let call = client.ask_task("tasks/get", &Named { task_id: id }, model::read);
        call.with_headers(headers.clone())
    }

    /// Asks the server to stop it. Whether it does, and when, the server decides: its end is told by
    /// [`result`](Self::result).
    pub fn cancel(&self) -> Call<()> {
        let About { client, id, headers, .. } = &*self.about;
        let call = client.ask_task("tasks/cancel", &Named { task_id: id }, |_| Ok(()));
        call.with_headers(headers.clone())
    }

    /// Gives the server what it asks for, by the keys of its `inputRequests`. Whoever waits for the
    /// [`result`](Self::result) of a task need not: the handlers of the client answer.
    pub fn update<K: Into<String>>(&self, inputs: impl IntoIterator<Item = (K, Json)>) -> Call<()> {
        let inputs = inputs.into_iter().map(|(key, json)| (key.into(), json));
        let responses = Json::empty_object().with_members(inputs);
        let About { client, id, headers, .. } = &*self.about;
        let params = Update { task_id: id, input_responses: &responses };
        let call = client.ask_task("tasks/update", &params, |_| Ok(()));
        call.with_headers(headers.clone())
    }

    /// Waits for its end, at the pace that the server asks for. What the server asks in between is
    /// answered by the client's handlers.
    ///
    /// Without a [`timeout`](TaskWait::timeout) it waits for as long as the server says that the task
    /// goes on, and gives up when its questions have no answer for as long as a tool call may take: 10
    /// minutes.
    pub fn result(&self) -> TaskWait<'_, T> {
        TaskWait { task: self, deadline: None }
    }

    /// Reads the result as a type of your own.
    pub fn typed<U: DeserializeOwned>(self) -> Task<U> {
        Task { about: self.about, read: |result| serde_json::from_slice(result.as_bytes()) }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", self.id()).finish_non_exhaustive()
    }
}

/// A wait for the result of a task, that has not begun.
#[must_use = "a task is waited for when this is awaited"]
pub struct TaskWait<'a, T = ToolResult> {
    task: &'a Task<T>,
    deadline: Option<Duration>,
}

impl<T> TaskWait<'_, T> {
    /// Waits no longer than this. The task goes on.
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
            // Nothing is sent: the call says why.
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

/// The task in an answer to `tools/call`, if the answer is one.
pub(super) fn created(answer: &Json) -> Option<Result<TaskState, serde_json::Error>> {
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
