//! The eras of the protocol that a server speaks, and the era of a request.

use serde::Deserialize;
use serde_json::Value;

use super::Entry;
use super::stateless::{PROTOCOL_VERSION, VERSION};

/// The eras that a server speaks. They may change at any time, by an upgrade or a rollback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spoken {
    /// Both: each request is read in the era that it names.
    Both,
    /// `initialize` and sessions: revisions 2025-03-26 to 2025-11-25.
    #[default]
    Legacy,
    /// No handshake and no session: revision 2026-07-28.
    Modern,
}

/// The era in which one request is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// Returns the era in which a server that speaks these reads this request.
    pub(super) fn of(spoken: Spoken, entry: &Entry, message: &Value) -> Self {
        let claims_modern = || {
            let in_header = entry.header("mcp-protocol-version") == Some(VERSION);
            in_header || !message["params"]["_meta"][PROTOCOL_VERSION].is_null()
        };
        match spoken {
            Spoken::Legacy => Self::Legacy,
            Spoken::Modern => Self::Modern,
            Spoken::Both if claims_modern() => Self::Modern,
            Spoken::Both => Self::Legacy,
        }
    }
}
