//! What a person should know about the catalogue.

use std::fmt;
use std::sync::Arc;

use super::pins::Approved;

/// Something that a person should know about the catalogue. It prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Two servers want one name, or list one URI.
    Collision {
        /// The server that came second.
        server: Arc<str>,
        /// What it calls its tool, prompt or resource.
        original: String,
        /// The name that it got.
        name: String,
        /// The server that has the wanted name.
        first: Arc<str>,
    },
    /// The definitions of a server's tools were approved, because none were before.
    Pinned {
        /// The server.
        server: Arc<str>,
        /// What was approved.
        approved: Approved,
    },
    /// A tool is withheld until its definition is approved.
    Withheld {
        /// The server.
        server: Arc<str>,
        /// The tool.
        tool: String,
        /// Whether there was none of its name.
        is_new: bool,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collision { server, original, name, first } => write!(
                f,
                "`{original}` of `{server}` is called `{name}` here: `{first}` has one of that name"
            ),
            Self::Pinned { server, approved } => {
                let count = approved.hashes().len();
                write!(f, "the definitions of {count} tools of `{server}` are pinned")
            }
            Self::Withheld { server, tool, is_new } => {
                let what = if *is_new { "is new" } else { "has another definition" };
                write!(f, "the tool `{tool}` of `{server}` {what} and is withheld")
            }
        }
    }
}
