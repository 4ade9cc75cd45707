//! Values that settings and actions share.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How those are treated who connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// They connect, and nothing follows.
    BlackHole,
    /// They are let in and shown out at once.
    CloseOnAccept,
    /// Nobody listens.
    Down,
    /// They are let in and reset at once.
    ResetOnAccept,
    /// They are served.
    #[default]
    Up,
}

/// The dialect in which an unknown session is refused.
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
