//! The error of a task that has no result.

use std::fmt;

use crate::model::TaskId;

/// The error of a task that has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskError {
    /// The task.
    pub id: TaskId,
    /// How the task ended.
    pub end: TaskEnd,
    /// What the server said about it.
    pub message: Option<String>,
}

/// How a task without a result ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskEnd {
    /// It was cancelled, by this client or another.
    Cancelled,
    /// It did not end within the time for which the server keeps it.
    Expired,
    /// It failed, and the server does not name the error.
    Failed,
    /// The server does not know it, or has forgotten it.
    Unknown,
}

impl TaskError {
    pub(crate) const fn new(id: TaskId, end: TaskEnd, message: Option<String>) -> Self {
        Self { id, end, message }
    }

    pub(super) const fn advice(&self) -> &'static str {
        match self.end {
            TaskEnd::Cancelled => "call the tool again if its work is still wanted",
            TaskEnd::Expired => "ask the server to keep its tasks for longer",
            TaskEnd::Failed => "look into the log of the server",
            TaskEnd::Unknown => {
                "check whether the tool took effect before you call it again; \
                 servers forget tasks after a while, and those of other credentials"
            }
        }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.end {
            TaskEnd::Cancelled => "the task was cancelled",
            TaskEnd::Expired => {
                "the task was given up: it did not end in the time for which the server keeps it"
            }
            TaskEnd::Failed => "the task failed",
            TaskEnd::Unknown => "the server does not know this task",
        })?;
        match &self.message {
            Some(message) => write!(f, ": the server said `{message}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TaskError {}
