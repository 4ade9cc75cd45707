//! What a person should know about the catalogue.

use std::fmt;
use std::sync::Arc;

use ridethrough_core::answer::words::harmless;

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
    /// A tool, prompt or resource is left out: its name has characters that steer terminals, hide text or
    /// reverse it.
    Unfit {
        /// The server.
        server: Arc<str>,
        /// The name, with such characters made visible.
        name: String,
    },
    /// A tool, prompt or resource is left out: many clients could not read the list that it is in.
    Unreadable {
        /// The server.
        server: Arc<str>,
        /// The name.
        name: String,
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
                "`{}` of `{server}` is called `{}` here: `{first}` has one of that name",
                harmless(original),
                harmless(name)
            ),
            Self::Pinned { server, approved } => {
                let count = approved.hashes().len();
                write!(f, "the definitions of {count} tools of `{server}` are pinned")
            }
            Self::Unfit { server, name } => write!(
                f,
                "`{}` of `{server}` is left out: its name has characters that no name should have",
                harmless(name)
            ),
            Self::Unreadable { server, name } => write!(
                f,
                "`{}` of `{server}` is left out: its definition is nested too deeply, or has a number that is too long",
                harmless(name)
            ),
            Self::Withheld { server, tool, is_new } => {
                let what = if *is_new { "is new" } else { "has another definition" };
                let tool = harmless(tool);
                write!(f, "the tool `{tool}` of `{server}` {what} and is withheld")
            }
        }
    }
}
