//! A call that its server carries out as a task: followed to its end, and cancelled with its command.

mod command;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use ridethrough::error::Kind;
use ridethrough::model::{TaskState, TaskStatus, ToolResult};
use ridethrough::task::{Begun, Task};
use ridethrough::{Call, Era};
use tokio::time::{Instant, sleep, timeout};

use super::Talk;
use crate::safe;
pub(super) use command::{TaskCommand, has_tasks, play};

impl Talk {
    /// Makes a call that can only be a task, and waits for its result.
    pub(super) async fn call_as_task(&self, call: Call<ToolResult>) -> Result<ToolResult> {
        let task = match call.as_task().await? {
            Begun::Answered(result) => return Ok(result),
            Begun::Task(task) => Arc::new(task),
        };
        *self.task() = Some(task.clone());
        let result = self.followed(&task).await;
        // A task that is out of time is cancelled like every other call; any other has ended, as far as is
        // known.
        if !matches!(&result, Err(ridethrough::Error::Call(it)) if it.kind == Kind::DeadlinePassed)
        {
            *self.task() = None;
        }
        self.cancel_task().await;
        Ok(result?)
    }

    /// Makes a call as a task and leaves it to the server. Returns the result, if the server made no task of
    /// it.
    pub(super) async fn detach(&self, call: Call<ToolResult>) -> Result<Option<ToolResult>> {
        let task = match call.as_task().await? {
            Begun::Answered(result) => {
                self.terminal.say("the server made no task of it: this is its result");
                return Ok(Some(result));
            }
            Begun::Task(task) => task,
        };
        let id = task.id();
        let json = || format!(r#"{{"taskId":{}}}"#, serde_json::json!(id.as_str()));
        self.print(json, |out, _| writeln!(out, "{}", safe::line(id.as_str())))?;
        let status = self.spoken.command("task status", "TASK");
        self.terminal.say(&format!(
            "the server goes on with it; `{status}` says where it stands, `task result` waits for it, \
             `task cancel` stops it"
        ));
        let status = self.client.status().await;
        if status.is_some_and(|it| it.era == Era::Legacy) {
            self.terminal.say(WITH_ITS_SESSION);
        }
        Ok(None)
    }

    /// Asks the server to stop the task that is under way, if there is one. Best effort, like every
    /// cancellation.
    pub(super) async fn cancel_task(&self) {
        let task = self.task().take();
        if let Some(task) = task {
            let _ = timeout(CANCEL_TIME, task.cancel().into_future()).await;
        }
    }

    /// Waits for the end of a task, and shows its state as long as it works.
    ///
    /// Faults, and input that the task needs, are handled by the wait for its result, which rides through any
    /// number of faults and lets the questions be answered.
    async fn followed(&self, task: &Task) -> Result<ToolResult, ridethrough::Error> {
        let left = || self.ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        while let Ok(state) = self.timed(task.status()).await {
            if state.status != TaskStatus::Working {
                break;
            }
            self.terminal.show(&words(&state));
            let pause = state.poll_interval.unwrap_or_default().clamp(LEAST_PAUSE, LONGEST_PAUSE);
            sleep(left().map_or(pause, |left| left.min(pause))).await;
        }
        match left() {
            Some(left) => task.result().timeout(left).await,
            None => task.result().await,
        }
    }
}

/// Returns the state of a task that works: `task: compiling`.
fn words(state: &TaskState) -> String {
    let message = state.message.as_deref().filter(|it| !it.is_empty());
    format!("task: {}", message.map_or_else(|| "working".to_owned(), safe::line))
}

/// A note about servers that keep tasks with the session, which ends with this command.
const WITH_ITS_SESSION: &str = "note: this server has sessions, and may forget the task with the one that ends now; \
                                if `task status` does not find it, call it without `--detach`";
const CANCEL_TIME: Duration = Duration::from_secs(1);
/// How often the server is asked for the state, if it names no interval.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
