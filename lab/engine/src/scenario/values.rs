//! Values that settings and actions share.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How new connections are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// They connect, and get no answer.
    BlackHole,
    /// They are accepted and closed at once.
    CloseOnAccept,
    /// They are refused.
    Down,
    /// They are accepted and reset at once.
    ResetOnAccept,
    /// They are served.
    #[default]
    Up,
}

/// The answer to a request that names an unknown session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LostSession {
    /// The status.
    pub status: u16,
    /// The body, as text.
    #[serde(default)]
    pub body: String,
}

/// Names of headers and their values.
pub(super) type Fields = BTreeMap<String, String>;
