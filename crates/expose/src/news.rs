//! Events for the person who runs `expose`.

use std::fmt;
use std::time::Duration;

use ridethrough_server::SessionNews;

/// Something that happened. It prints as one line, without secrets and without control sequences for a
/// terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// A child could not be started.
    NotStarted {
        /// The reason.
        what: String,
    },
    /// Children die soon after their start, so the next one is started after this pause.
    Paused {
        /// The length of the pause.
        pause: Duration,
    },
    /// Something that happened to a session.
    Session(SessionNews),
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { what } => write!(f, "no session: {what}"),
            Self::Paused { pause } => {
                write!(f, "the next start waits for {:.2} s", pause.as_secs_f64())
            }
            Self::Session(news) => news.fmt(f),
        }
    }
}
