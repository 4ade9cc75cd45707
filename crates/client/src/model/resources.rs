//! Resources, resource templates, the contents of a resource, and the roots that a client gives.

use ridethrough_wire::message::Json;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Listed, absent_if_null, keeps_its_json, read};

/// A resource of a server, which can be read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The name.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub name: String,
    /// The name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// The description, for models and people.
    #[serde(default)]
    pub description: Option<String>,
    /// The media type.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// The size in bytes.
    #[serde(default)]
    pub size: Option<u64>,
    /// The whole resource, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// A template for the URIs of a family of resources.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The URI template (RFC 6570).
    pub uri_template: String,
    /// The name.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub name: String,
    /// The name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// The description, for models and people.
    #[serde(default)]
    pub description: Option<String>,
    /// The media type, if all these resources have one in common.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// The whole template, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// The result of reading a resource.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ResourceResult {
    /// The contents of the resource, or of the resources below it.
    #[serde(deserialize_with = "each_with_its_text")]
    pub contents: Vec<ResourceContents>,
    /// The whole result, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// The contents of a resource: text or bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI.
    pub uri: String,
    /// The media type.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// The text, if it is text.
    #[serde(default)]
    pub text: Option<String>,
    /// The bytes in base64, if it is not.
    #[serde(default)]
    pub blob: Option<String>,
    /// The whole contents, as they were sent.
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

/// A root that a server may work in.
///
/// ```
/// use ridethrough::model::Root;
///
/// let root = Root::new("file:///home/me/project").named("project");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Root {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl Root {
    /// Creates a root at this URI; the specification allows `file://` only.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// Sets the name for people.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}
