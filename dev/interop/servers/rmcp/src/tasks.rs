//! A tool that answers at once and goes on: the extension for tasks.

use std::sync::LazyLock;
use std::time::Duration;

use rmcp::model::{CallToolResult, CreateTaskResult};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::json;

use crate::failure::{Context, Failure, error, note, of};
use crate::rounds::form;

/// The tasks of the whole program: who asks for one has no session.
pub(crate) static TASKS: LazyLock<TaskManager> = LazyLock::new(TaskManager::new);

/// A task, if the client knows what that is. One that asks wants a form before it ends.
pub(crate) fn later(
    context: &Context,
    key: String,
    pause: Duration,
    asks: bool,
) -> Result<String, Failure> {
    if !context.client_capabilities().is_some_and(|it| it.supports_tasks()) {
        return Err(Failure::Tool("this client declares no tasks".to_owned()));
    }
    let options = TaskOptions::new().with_poll_interval_ms(100);
    let task = TASKS.spawn(options, move |task| Box::pin(run(task, key, pause, asks)));
    Err(Failure::Later(Box::new(CreateTaskResult::new(task))))
}

async fn run(
    task: TaskContext,
    key: String,
    pause: Duration,
    asks: bool,
) -> Result<CallToolResult, TaskExit> {
    let failed = |wrong: std::io::Error| TaskExit::Error(error(-32603, wrong.to_string()));
    note(&format!("ran {key}")).map_err(failed)?;
    let mut text = key.clone();
    if asks {
        let question = of(json!({ "method": "elicitation/create", "params": form() }));
        let answer = task.request_input("it", question.map_err(TaskExit::Error)?).await?;
        text = answer["content"].to_string();
    }
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = task.cancelled() => {
            note(&format!("cancelled {key}")).map_err(failed)?;
            return Err(TaskExit::Cancelled);
        }
    }
    of(json!({ "content": [{ "type": "text", "text": text }] })).map_err(TaskExit::Error)
}
