//! What was read from where, for people who wonder why something is so.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Layer;

/// A place that said something, and which settings it said: names, never values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) from: String,
    pub(crate) settings: Vec<String>,
}

impl Origin {
    /// This place, if it said anything.
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
