//! What a server asks of our model.

use ridethrough_core::message::Json;
use serde::{Deserialize, Serialize};

use super::content::{Content, Message, Role, messages};
use super::{absent_if_null, keeps_its_json};

/// A conversation that the server wants continued by a model of ours.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingRequest {
    /// What was said so far.
    #[serde(deserialize_with = "messages")]
    pub messages: Vec<Message>,
    /// What the server wants the model to be told first.
    #[serde(default)]
    pub system_prompt: Option<String>,
    /// How long the answer may be.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// How free the answer may be.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Where the answer must stop.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub stop_sequences: Vec<String>,
    /// Which models the server would like.
    #[serde(default)]
    pub model_preferences: Option<Json>,
    /// The whole request, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// What our model said.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingResult {
    /// Who speaks.
    pub role: Role,
    /// What it said.
    pub content: Content,
    /// Which model it was.
    pub model: String,
    /// Why it stopped, such as `endTurn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl SamplingResult {
    /// An answer of this model.
    pub fn new(model: impl Into<String>, content: Content) -> Self {
        Self { role: Role::Assistant, content, model: model.into(), stop_reason: None }
    }

    /// An answer in words, that ended because all was said.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        let result = Self::new(model, Content::Text(text.into()));
        Self { stop_reason: Some("endTurn".to_owned()), ..result }
    }
}

keeps_its_json!(SamplingRequest);
