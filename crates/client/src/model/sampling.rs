//! Sampling: requests of a server to the client's model.

use ridethrough_wire::message::Json;
use serde::{Deserialize, Serialize};

use super::content::{Content, Message, Role, messages};
use super::{absent_if_null, keeps_its_json};

/// A conversation that the server wants the client's model to continue.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The messages so far.
    #[serde(deserialize_with = "messages")]
    pub messages: Vec<Message>,
    /// The system prompt that the server suggests.
    #[serde(default)]
    pub system_prompt: Option<String>,
    /// The most tokens of the answer.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// The sampling temperature.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// The sequences at which the answer must stop.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub stop_sequences: Vec<String>,
    /// The models that the server prefers.
    #[serde(default)]
    pub model_preferences: Option<Json>,
    /// The whole request, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// The answer of the client's model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingResult {
    /// The speaker.
    pub role: Role,
    /// The content of the answer.
    pub content: Content,
    /// The name of the model.
    pub model: String,
    /// Why the model stopped, such as `endTurn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl SamplingResult {
    /// Creates an answer of this model.
    pub fn new(model: impl Into<String>, content: Content) -> Self {
        Self { role: Role::Assistant, content, model: model.into(), stop_reason: None }
    }

    /// Creates a text answer that ended by itself.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        let result = Self::new(model, Content::Text(text.into()));
        Self { stop_reason: Some("endTurn".to_owned()), ..result }
    }
}

keeps_its_json!(SamplingRequest);
