//! Tasks: work that a server continues after it has answered.
//!
//! The stateless revision and 2025-11-25 use slightly different fields for them; both are read here.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ridethrough_wire::message::Json;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Listed, absent_if_null, keeps_its_json};

/// The id of a task, given by its server. It can be stored, and given to another [`Client`](crate::Client) of
/// that server by [`task`](crate::Client::task).
///
/// The id may be enough to read the result, so it is never printed: keep it like a password.
///
/// ```
/// use ridethrough::model::TaskId;
///
/// let id: TaskId = "786512e2".parse()?;
/// let stored = serde_json::to_string(&id)?;
/// assert_eq!(serde_json::from_str::<TaskId>(&stored)?, id);
/// assert_eq!(id.as_str(), "786512e2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct TaskId(String);

/// The error for an empty text, which is no task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a task is empty")]
pub struct NoTaskId;

impl TaskId {
    /// Returns the id, for storing it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TaskId {
    type Err = NoTaskId;

    fn from_str(text: &str) -> Result<Self, NoTaskId> {
        match text {
            "" => Err(NoTaskId),
            text => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Debug for TaskId {
    /// Hides the id: servers may accept it like a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskId(..)")
    }
}

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// It was cancelled.
    Cancelled,
    /// It is done and has a result, which may be a tool's report of a failure.
    Completed,
    /// It ended with an error.
    Failed,
    /// The server waits for input.
    InputRequired,
    /// It is running.
    Working,
    /// An unknown status. It does not count as the end.
    #[serde(other)]
    Other,
}

impl TaskStatus {
    /// Whether the task has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Failed)
    }
}

/// A server's description of a task.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "TaskFields")]
#[non_exhaustive]
pub struct TaskState {
    /// The id of the task.
    pub id: TaskId,
    /// The status.
    pub status: TaskStatus,
    /// The status in words, for people.
    pub message: Option<String>,
    /// How long the server keeps the task, counted from its beginning; for ever if `None`.
    pub kept_for: Option<Duration>,
    /// How often the server wants to be asked about it.
    pub poll_interval: Option<Duration>,
    /// When it last changed, as the server writes it.
    pub last_updated_at: String,
    /// The whole description, as it was sent.
    pub json: Json,
}

impl TaskState {
    /// Whether the description is that of 2025-11-25, where the result is fetched by a request of its own.
    pub(crate) fn is_legacy(&self) -> bool {
        let says = |word| self.json.member(word).is_some();
        !says("resultType") && (says("ttl") || !says("ttlMs"))
    }
}

/// The fields of a task in either revision, or in both at once.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskFields {
    task_id: TaskId,
    status: TaskStatus,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default)]
    ttl_ms: Option<Json>,
    #[serde(default)]
    ttl: Option<Json>,
    #[serde(default)]
    poll_interval_ms: Option<Json>,
    #[serde(default)]
    poll_interval: Option<Json>,
    #[serde(default, deserialize_with = "absent_if_null")]
    last_updated_at: String,
}

impl From<TaskFields> for TaskState {
    fn from(words: TaskFields) -> Self {
        let time = |new, old| millis(new).or_else(|| millis(old));
        Self {
            id: words.task_id,
            status: words.status,
            message: words.status_message,
            kept_for: time(words.ttl_ms, words.ttl),
            poll_interval: time(words.poll_interval_ms, words.poll_interval),
            last_updated_at: words.last_updated_at,
            json: Json::empty_object(),
        }
    }
}

impl Listed for TaskState {
    const METHOD: &'static str = "tasks/list";
    const KEY: &'static str = "tasks";
}

keeps_its_json!(TaskState);

/// Whether a tool can be called as a task; only servers of 2025-11-25 declare it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// It can be.
    Optional,
    /// It must be.
    Required,
    /// It cannot be; also if nothing is declared.
    #[default]
    #[serde(other)]
    Forbidden,
}

/// Reads the `execution` of a tool.
pub(super) fn support<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskSupport, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Execution {
        #[serde(deserialize_with = "absent_if_null")]
        task_support: TaskSupport,
    }

    Ok(absent_if_null::<Execution, D>(deserializer)?.task_support)
}

/// Reads milliseconds; anything that is no time to wait for is ignored.
fn millis(said: Option<Json>) -> Option<Duration> {
    let said = said?;
    let in_quotes = || said.read::<String>()?.parse().ok();
    let number: f64 = said.read().or_else(in_quotes)?;
    let seconds = Some(number).filter(|it| *it > 0.0)? / 1000.0;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Tool, read};

    #[test]
    fn both_revisions_say_the_same_in_their_own_words() {
        let state = |text: &'static str| read::<TaskState>(Json::new(text).unwrap()).unwrap();
        let modern = state(
            r#"{"resultType":"complete","taskId":"t","status":"input_required","ttlMs":60000,"pollIntervalMs":1500}"#,
        );
        let legacy =
            state(r#"{"taskId":"t","status":"input_required","ttl":60000,"pollInterval":1500}"#);

        for state in [&modern, &legacy] {
            assert_eq!(state.status, TaskStatus::InputRequired);
            assert_eq!(state.kept_for, Some(Duration::from_secs(60)));
            assert_eq!(state.poll_interval, Some(Duration::from_millis(1500)));
        }
        assert!(legacy.is_legacy() && !modern.is_legacy());
        let bare = state(r#"{"taskId":"t","status":"completed","ttlMs":null}"#);
        assert!(!bare.is_legacy(), "{bare:?}");
    }

    #[test]
    fn times_that_nobody_can_wait_for_and_words_that_nobody_knows_say_nothing() {
        for text in [
            r#"{"taskId":"t","status":"pondering","ttl":null,"pollInterval":-1}"#,
            r#"{"taskId":"t","status":"pondering","ttl":0,"pollInterval":1e300}"#,
        ] {
            let state: TaskState = read(Json::new(text).unwrap()).unwrap();

            assert_eq!((state.kept_for, state.poll_interval), (None, None));
            assert!(state.status == TaskStatus::Other && !state.status.is_final());
        }
    }

    #[test]
    fn what_is_said_in_both_words_is_read_by_the_newer_ones_if_those_can_be_read() {
        for (text, kept_for) in [
            (r#"{"taskId":"t","status":"working","ttl":1000,"ttlMs":2000}"#, Some(2)),
            (r#"{"taskId":"t","status":"working","ttlMs":null,"ttl":1000}"#, Some(1)),
            (r#"{"taskId":"t","status":"working","ttlMs":"soon","ttl":1000}"#, Some(1)),
            (r#"{"taskId":"t","status":"working","ttlMs":"3000"}"#, Some(3)),
            (r#"{"taskId":"t","status":"working","ttlMs":1e999,"pollInterval":{}}"#, None),
        ] {
            let state: TaskState = read(Json::new(text).unwrap()).unwrap();

            assert_eq!(state.kept_for, kept_for.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn the_type_of_a_result_says_the_revision_before_the_words_for_times_do() {
        let both =
            r#"{"resultType":"complete","taskId":"t","status":"completed","ttl":1,"ttlMs":1}"#;
        let state: TaskState = read(Json::new(both).unwrap()).unwrap();

        assert!(!state.is_legacy());
    }

    #[test]
    fn a_tool_says_whether_it_can_be_a_task() {
        for (execution, support) in [
            (r#"{"taskSupport":"required"}"#, TaskSupport::Required),
            (r#"{"taskSupport":"optional"}"#, TaskSupport::Optional),
            (r#"{"taskSupport":"now and then"}"#, TaskSupport::Forbidden),
            (r#"{"taskSupport":null}"#, TaskSupport::Forbidden),
            ("null", TaskSupport::Forbidden),
        ] {
            let text = format!(r#"{{"name":"a","execution":{execution}}}"#);
            assert_eq!(read::<Tool>(Json::new(text).unwrap()).unwrap().task_support, support);
        }
    }

    #[test]
    fn the_id_of_a_task_is_not_printed() {
        let id: TaskId = "s3cret".parse().unwrap();

        assert!(!format!("{id:?}").contains("s3cret"));
        assert_eq!("".parse::<TaskId>(), Err(NoTaskId));
    }
}
