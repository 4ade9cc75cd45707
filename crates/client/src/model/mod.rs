//! MCP's messages as types.
//!
//! They name the fields that applications commonly need. Each type that a server sends also keeps its whole
//! JSON in `json`, so that a field that is not named here, or that comes with the next revision, is never
//! lost. Unknown fields are never an error, and `null` counts as absent; a named field of the wrong form is
//! an error.

mod completion;
mod content;
mod elicitation;
mod notification;
mod progress;
mod prompts;
mod resources;
mod sampling;
mod tasks;
mod tools;

pub(crate) use completion::To;
pub use completion::{Completion, Reference};
pub use content::{Content, Media, Message, Role};
pub use elicitation::{Elicited, FormRequest, UrlRequest};
pub use notification::{LogLevel, LogMessage, Notification};
pub use progress::Progress;
pub use prompts::{Prompt, PromptArgument, PromptResult};
pub use resources::{Resource, ResourceContents, ResourceResult, ResourceTemplate, Root};
pub use sampling::{SamplingRequest, SamplingResult};
pub use tasks::{NoTaskId, TaskId, TaskState, TaskStatus, TaskSupport};
pub(crate) use tools::read_result;
pub use tools::{Tool, ToolAnnotations, ToolResult};

use ridethrough_wire::message::Json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

/// A type that keeps the JSON it was read from.
pub(crate) trait Model: DeserializeOwned {
    fn keep(&mut self, json: Json);
}

/// A type of which a server has a list.
pub(crate) trait Listed: Model {
    /// The method that lists them.
    const METHOD: &'static str;
    /// The key of the list in its result.
    const KEY: &'static str;
}

/// Reads a type and lets it keep the JSON.
pub(crate) fn read<M: Model>(json: Json) -> Result<M, serde_json::Error> {
    let mut model: M = serde_json::from_slice(json.as_bytes())?;
    model.keep(json);
    Ok(model)
}

/// Implements [`Model`] for types with a field `json`.
macro_rules! keeps_its_json {
    ($($model:ty),+ $(,)?) => {$(
        impl crate::model::Model for $model {
            fn keep(&mut self, json: ridethrough_wire::message::Json) {
                self.json = json;
            }
        }
    )+};
}
use keeps_its_json;

/// Reads `null` as absent. Many servers write all their fields, set or not, and one such field in one tool
/// must not hide all the others.
fn absent_if_null<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_as_good_as_absent() {
        fn same<M: Model + PartialEq + std::fmt::Debug>(
            with_nulls: &'static str,
            without: &'static str,
        ) {
            let mut read_back: M = read(Json::new(with_nulls).unwrap()).unwrap();
            let expected: M = read(Json::new(without).unwrap()).unwrap();
            read_back.keep(Json::new(without).unwrap());
            assert_eq!(read_back, expected, "{with_nulls}");
        }

        same::<Tool>(r#"{"name":"a","title":null,"annotations":null}"#, r#"{"name":"a"}"#);
        same::<ToolResult>(
            r#"{"content":null,"isError":null,"structuredContent":null}"#,
            r#"{"content":[]}"#,
        );
        same::<Prompt>(r#"{"name":"a","arguments":null}"#, r#"{"name":"a"}"#);
        same::<Prompt>(
            r#"{"name":"a","arguments":[{"name":"b","required":null}]}"#,
            r#"{"name":"a","arguments":[{"name":"b"}]}"#,
        );
        same::<Resource>(r#"{"uri":"a:b","name":null,"size":null}"#, r#"{"uri":"a:b"}"#);
        same::<Completion>(r#"{"values":[],"total":null,"hasMore":null}"#, r#"{"values":[]}"#);
    }
}
