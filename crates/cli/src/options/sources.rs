//! The sources of settings, for people who wonder where a setting comes from.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Layer;

/// A source and the names of the settings that it has, never values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) from: String,
    pub(crate) settings: Vec<String>,
}

impl Origin {
    /// Returns this source, if it has any settings.
    pub(super) fn of(from: &str, layer: &Layer) -> Option<Self> {
        let settings: Vec<_> = layer.keys().into_iter().map(str::to_owned).collect();
        (!settings.is_empty()).then(|| Self { from: from.to_owned(), settings })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.settings.join(", "), self.from)
    }
}
