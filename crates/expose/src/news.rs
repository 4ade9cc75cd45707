//! What is worth telling the person who exposes a server.

use std::fmt;
use std::time::Duration;

/// Something that happened. It prints as a line without secrets; nothing of it can move a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// A session began, with a child of its own.
    Began {
        /// Its number, counted from 1.
        session: u64,
    },
    /// A child ended by itself, or had to be ended.
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
        /// Why.
        why: &'static str,
    },
    /// A child could not be started.
    NotStarted {
        /// Why.
        what: String,
    },
    /// Children die young: the next one is started after this pause.
    Paused {
        /// How long.
        pause: Duration,
    },
    /// A child wrote a line to its stdout that is no message.
    Rubbish {
        /// Its session's number.
        session: u64,
    },
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { session } => write!(f, "session {session} began"),
            Self::Died { session, what } => write!(f, "session {session} is over: {what}"),
            Self::Ended { session, why } => write!(f, "session {session} ended: {why}"),
            Self::NotStarted { what } => write!(f, "no session: {what}"),
            Self::Paused { pause } => {
                write!(f, "the next start waits for {:.2} s", pause.as_secs_f64())
            }
            Self::Rubbish { session } => {
                write!(f, "session {session}: a line that is no message was skipped")
            }
        }
    }
}
