//! The roots that a server may work in.

use serde::Serialize;

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
