//! Events for the person who runs the gateway.

use std::fmt;
use std::sync::Arc;

use ridethrough_core::answer::words::harmless;

use crate::catalogue::Notice;

/// Something that happened. It prints as one line, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatewayNews {
    /// A server answers again.
    Back {
        /// The server.
        server: Arc<str>,
    },
    /// Something about the catalogue.
    Catalogue(Notice),
    /// A repeat of a call that may have run was not sent.
    Held {
        /// The server.
        server: Arc<str>,
    },
    /// A person has logged in to a server, for a principal.
    LoggedIn {
        /// The server.
        server: Arc<str>,
        /// The name of the principal.
        principal: Arc<str>,
    },
    /// A server could not be asked for its lists; what was last known stands in.
    Sick {
        /// The server.
        server: Arc<str>,
        /// Why, in one line.
        why: String,
    },
}

impl fmt::Display for GatewayNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Back { server } => write!(f, "`{server}` answers again"),
            Self::Catalogue(notice) => notice.fmt(f),
            Self::Held { server } => {
                write!(f, "`{server}` was not sent a repeat of a call that may have run")
            }
            Self::LoggedIn { server, principal } => {
                write!(f, "somebody has logged in to `{server}` for `{}`", harmless(principal))
            }
            Self::Sick { server, why } => {
                let why = harmless(why);
                write!(f, "`{server}` cannot be asked, and what was last known stands in: {why}")
            }
        }
    }
}
