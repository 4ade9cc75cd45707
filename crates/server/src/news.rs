//! Events for the person who runs the server.

use std::fmt;

/// Something that happened to a session. It prints as one line, without secrets and without control sequences
/// for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionNews {
    /// A session began, with a conversation of its own.
    Began {
        /// Its number, counted from 1.
        session: u64,
    },
    /// The backend of a session ended by itself, or had to be ended.
    Died {
        /// Its session's number.
        session: u64,
        /// What happened.
        what: String,
    },
    /// A session ended as it should.
    Ended {
        /// Its number.
        session: u64,
        /// The reason.
        why: &'static str,
    },
    /// A repeat of a call that may have run was not sent.
    Held {
        /// Its session's number.
        session: u64,
    },
    /// Something that is not a message was skipped.
    Rubbish {
        /// Its session's number.
        session: u64,
    },
}

impl fmt::Display for SessionNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { session } => write!(f, "session {session} began"),
            Self::Died { session, what } => write!(f, "session {session} is over: {what}"),
            Self::Ended { session, why } => write!(f, "session {session} ended: {why}"),
            Self::Held { session } => {
                write!(f, "session {session}: a repeat of a call that may have run was not sent")
            }
            Self::Rubbish { session } => {
                write!(f, "session {session}: a line that is no message was skipped")
            }
        }
    }
}
