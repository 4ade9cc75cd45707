//! The stateless revision (2026-07-28) from the side of a server: what every program that answers its clients,
//! and has a server of sessions behind it, must know of its words.
//!
//! This module only reads and writes text; where messages go is decided elsewhere.

mod answers;
mod listen;
mod offers;
mod sender;

pub use answers::{
    additions, are_pages, discovered, dressed, input_required, translated, unsupported, untagged,
    were_visited, with_server,
};
pub use listen::{ACKNOWLEDGED, Filter, LISTEN, tagged};
pub use offers::{Offers, needed};
pub use sender::{Sender, UnfitSender, passed_on};

use crate::era::Version;

/// The revision, as messages name it.
pub const REVISION: &str = Version::V2026_07_28.as_str();

/// The method by which a client learns what a server can do.
pub const DISCOVER: &str = "server/discover";

/// Returns the names of the revisions that a client may choose from, newest first.
pub fn supported() -> Vec<&'static str> {
    Version::ALL.into_iter().rev().map(Version::as_str).collect()
}

/// Whether the answer to this method may be `input_required`.
pub fn can_ask(method: &str) -> bool {
    matches!(method, "prompts/get" | "resources/read" | "tools/call")
}

/// Whether this method exists in the older revisions only.
pub fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "logging/setLevel"
            | "ping"
            | "resources/subscribe"
            | "resources/unsubscribe"
    )
}
