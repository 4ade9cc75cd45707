//! Prompts, and the messages that a prompt is filled in to.

use ridethrough_wire::message::Json;
use serde::Deserialize;

use super::content::{Message, messages};
use super::{Listed, absent_if_null, keeps_its_json};

/// A prompt of a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// The name to get it by.
    pub name: String,
    /// The name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// The arguments that it can be filled in with.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub arguments: Vec<PromptArgument>,
    /// The whole prompt, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name of the argument.
    pub name: String,
    /// The name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether the prompt needs it.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub required: bool,
}

/// A prompt, filled in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// The messages to begin a conversation with.
    #[serde(deserialize_with = "messages")]
    pub messages: Vec<Message>,
    /// The whole result, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

impl Listed for Prompt {
    const METHOD: &'static str = "prompts/list";
    const KEY: &'static str = "prompts";
}

keeps_its_json!(Prompt, PromptResult);
