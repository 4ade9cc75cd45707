//! What MCP's messages say, as types.
//!
//! Only what people read of them. Each type that a server sends also keeps its whole text in `json`:
//! a field that is not named here, or that comes with the next revision, is never lost. Unknown
//! fields are never an error; a field that is here and has another form than it should is one.

mod completion;
mod content;
mod elicitation;
mod logging;
mod notification;
mod progress;
mod prompts;
mod resources;
mod roots;
mod sampling;
mod tools;

pub(crate) use completion::To;
pub use completion::{Completion, Reference};
pub use content::{Content, Media, Message, Role};
pub use elicitation::{Elicited, FormRequest, UrlRequest};
pub use logging::{LogLevel, LogMessage};
pub use notification::Notification;
pub use progress::Progress;
pub use prompts::{Prompt, PromptArgument, PromptResult};
pub use resources::{Resource, ResourceContents, ResourceResult, ResourceTemplate};
pub use roots::Root;
pub use sampling::{SamplingRequest, SamplingResult};
pub use tools::{Tool, ToolAnnotations, ToolResult};

use ridethrough_core::message::Json;
use serde::de::DeserializeOwned;

/// A type that keeps the text it was read from.
pub(crate) trait Model: DeserializeOwned {
    fn keep(&mut self, json: Json);
}

/// Something of which a server has a list.
pub(crate) trait Listed: Model {
    /// The method that lists them.
    const METHOD: &'static str;
    /// Where they stand in its result.
    const KEY: &'static str;
}

/// Reads a type and lets it keep the text.
pub(crate) fn read<M: Model>(json: Json) -> Result<M, serde_json::Error> {
    let mut model: M = serde_json::from_slice(json.as_bytes())?;
    model.keep(json);
    Ok(model)
}

/// Implements [`Model`] for types with a field `json`.
macro_rules! keeps_its_json {
    ($($model:ty),+ $(,)?) => {$(
        impl crate::model::Model for $model {
            fn keep(&mut self, json: ridethrough_core::message::Json) {
                self.json = json;
            }
        }
    )+};
}
use keeps_its_json;
