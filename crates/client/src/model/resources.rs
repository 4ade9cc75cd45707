//! Resources, templates of them, and what reading one brings.

use ridethrough_core::message::Json;
use serde::{Deserialize, Deserializer};

use super::{Listed, absent_if_null, keeps_its_json, read};

/// Something that can be read from a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// Where it is.
    pub uri: String,
    /// Its name.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub name: String,
    /// A name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is, for models and people.
    #[serde(default)]
    pub description: Option<String>,
    /// What its bytes are.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// How many bytes it has.
    #[serde(default)]
    pub size: Option<u64>,
    /// The whole resource, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// A family of resources.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// Where they are: an RFC 6570 template.
    pub uri_template: String,
    /// Its name.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub name: String,
    /// A name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What they are, for models and people.
    #[serde(default)]
    pub description: Option<String>,
    /// What their bytes are, if it is the same for all.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// The whole template, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// What reading a resource brought.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ResourceResult {
    /// The resource, or the resources below it.
    #[serde(deserialize_with = "each_with_its_text")]
    pub contents: Vec<ResourceContents>,
    /// The whole result, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// A resource with what is in it: text or bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceContents {
    /// Where it is.
    pub uri: String,
    /// What its bytes are.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// Its text, if it is text.
    #[serde(default)]
    pub text: Option<String>,
    /// Its bytes in base64, if it is not.
    #[serde(default)]
    pub blob: Option<String>,
    /// The whole of it, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

impl Listed for Resource {
    const METHOD: &'static str = "resources/list";
    const KEY: &'static str = "resources";
}

impl Listed for ResourceTemplate {
    const METHOD: &'static str = "resources/templates/list";
    const KEY: &'static str = "resourceTemplates";
}

keeps_its_json!(Resource, ResourceContents, ResourceResult, ResourceTemplate);

fn each_with_its_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ResourceContents>, D::Error> {
    let contents = Vec::<Json>::deserialize(deserializer)?;
    contents.into_iter().map(|json| read(json).map_err(serde::de::Error::custom)).collect()
}
