//! Events for the person who runs `expose`.

use std::fmt;
use std::time::Duration;

/// Something that happened. It prints as one line, without secrets and without control sequences for a
/// terminal.
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
        /// The reason.
        why: &'static str,
    },
    /// A child could not be started.
    NotStarted {
        /// The reason.
        what: String,
    },
    /// Children die soon after their start: the next one is started after this pause.
    Paused {
        /// The length of the pause.
        pause: Duration,
    },
    /// A child wrote a line to stdout that is not a message.
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
