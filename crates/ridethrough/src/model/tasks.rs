//! Tasks: work that a server goes on with after it has answered.
//!
//! The stateless revision and 2025-11-25 say the same in slightly different words; both are read here.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ridethrough_core::message::Json;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Listed, absent_if_null, keeps_its_json};

/// The name of a task, given by its server. It can be stored, and given back to another
/// [`Client`](crate::Client) of the same server by [`task`](crate::Client::task).
///
/// Whoever knows it may be able to read the result, so it is never printed: keep it like a password.
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

/// An empty text names no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a task is empty")]
pub struct NoTaskId;

impl TaskId {
    /// The name as it is, for storing it.
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
    /// Hides it: servers may take it for a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskId(..)")
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// It was cancelled.
    Cancelled,
    /// It is done and has a result, be that a tool's word that it failed.
    Completed,
    /// It ended with an error.
    Failed,
    /// The server waits for input of ours.
    InputRequired,
    /// It goes on.
    Working,
    /// A word that this client does not know. It is not taken for the end.
    #[serde(other)]
    Other,
}

impl TaskStatus {
    /// Whether nothing more will happen.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Failed)
    }
}

/// What a server says about a task.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskState {
    /// Which task.
    #[serde(rename = "taskId")]
    pub id: TaskId,
    /// Where it stands.
    pub status: TaskStatus,
    /// The same for people.
    #[serde(default, rename = "statusMessage")]
    pub message: Option<String>,
    /// How long the server keeps it, from its beginning on; without end if `None`.
    #[serde(default, rename = "ttlMs", alias = "ttl", deserialize_with = "millis")]
    pub kept_for: Option<Duration>,
    /// How often the server wants to be asked about it.
    #[serde(
        default,
        rename = "pollIntervalMs",
        alias = "pollInterval",
        deserialize_with = "millis"
    )]
    pub poll_interval: Option<Duration>,
    /// When it last changed, in the server's words.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub last_updated_at: String,
    /// All that the server said, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

impl TaskState {
    /// Whether these are the words of 2025-11-25, where the result is fetched on its own.
    pub(crate) fn is_legacy(&self) -> bool {
        let says = |word| self.json.member(word).is_some();
        says("ttl") || !(says("ttlMs") || says("resultType"))
    }
}

impl Listed for TaskState {
    const METHOD: &'static str = "tasks/list";
    const KEY: &'static str = "tasks";
}

keeps_its_json!(TaskState);

/// Whether a tool can be called as a task; only servers of 2025-11-25 say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// It can.
    Optional,
    /// It cannot be called otherwise.
    Required,
    /// It cannot; also where nothing is said.
    #[default]
    #[serde(other)]
    Forbidden,
}

/// Reads `execution` of a tool.
pub(super) fn support<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskSupport, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Execution {
        #[serde(deserialize_with = "absent_if_null")]
        task_support: TaskSupport,
    }

    Ok(absent_if_null::<Execution, D>(deserializer)?.task_support)
}

/// Milliseconds; whatever is not a time that can be waited for says nothing.
fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?;
    let seconds = number.filter(|it| *it > 0.0).map(|it| it / 1000.0);
    Ok(seconds.and_then(|it| Duration::try_from_secs_f64(it).ok()))
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
