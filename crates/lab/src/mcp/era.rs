//! Which eras of the protocol a server speaks, and to which one a request belongs.

use serde::Deserialize;
use serde_json::Value;

use super::Entry;
use super::stateless::{PROTOCOL_VERSION, VERSION};

/// Which eras a server speaks. It may change at any time: an upgrade, or a rollback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spoken {
    /// Each request is taken as what it says it is.
    Both,
    /// `initialize` and sessions: revisions 2025-03-26 to 2025-11-25.
    #[default]
    Legacy,
    /// No handshake and no session: revision 2026-07-28.
    Modern,
}

/// How one request is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// How a server that speaks so takes this request.
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
