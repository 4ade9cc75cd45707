//! Completions of an argument.

use std::collections::BTreeMap;

use ridethrough_wire::message::Json;
use serde::{Deserialize, Serialize};

use super::{absent_if_null, keeps_its_json};

/// The prompt or resource template that an argument belongs to.
///
/// ```
/// use ridethrough::model::Reference;
///
/// let city = Reference::prompt("weather").with("country", "NZ");
/// let path = Reference::resource("file:///{path}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub(crate) to: To,
    pub(crate) context: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
pub(crate) enum To {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// The values that complete an argument.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The best values, at most 100.
    pub values: Vec<String>,
    /// How many there are in all, if the server says so.
    #[serde(default)]
    pub total: Option<u64>,
    /// Whether there are more than these.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub has_more: bool,
    /// The completion as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

impl Reference {
    /// Refers to an argument of this prompt.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self { to: To::Prompt { name: name.into() }, context: BTreeMap::new() }
    }

    /// Refers to a variable in this resource template.
    pub fn resource(uri_template: impl Into<String>) -> Self {
        Self { to: To::Resource { uri: uri_template.into() }, context: BTreeMap::new() }
    }

    /// Adds the value of another argument (from revision 2025-06-18 on).
    pub fn with(mut self, argument: impl Into<String>, value: impl Into<String>) -> Self {
        self.context.insert(argument.into(), value.into());
        self
    }
}

keeps_its_json!(Completion);
