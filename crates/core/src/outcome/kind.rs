//! The ways in which a call ends without an answer, and the reasons for it.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;

use super::NoCredentials;
use crate::audience::Audience;
use crate::failure::Failure;
use crate::rule::Rule;

/// The ways in which a call ends without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The breaker is open, and the call was not attempted.
    BreakerOpen,
    /// The caller cancelled the call.
    Cancelled,
    /// The link was closed during the call.
    Closed,
    /// The call cannot be sent as it was configured; nothing was tried.
    Config,
    /// The call's deadline passed.
    DeadlinePassed,
    /// Everything that may be tried was tried.
    Exhausted,
    /// The server speaks no revision of the protocol that the client does.
    Incompatible,
    /// The connection broke after the server may have received the request.
    Interrupted,
    /// The server broke the protocol or a limit.
    PeerMisbehaved,
    /// The server refused the request.
    Rejected {
        /// The status of the refusal.
        status: u16,
    },
    /// The session was lost a second time after it was renewed, or could not be renewed.
    SessionLost,
    /// The answer is larger than the client's message limit.
    TooLarge,
    /// The credentials were refused.
    Unauthorized,
    /// No connection could be made.
    Unreachable,
}

impl Kind {
    /// Returns the kind in one word, as programs write it: `breakerOpen`, `deadlinePassed`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BreakerOpen => "breakerOpen",
            Self::Cancelled => "cancelled",
            Self::Closed => "closed",
            Self::Config => "config",
            Self::DeadlinePassed => "deadlinePassed",
            Self::Exhausted => "exhausted",
            Self::Incompatible => "incompatible",
            Self::Interrupted => "interrupted",
            Self::PeerMisbehaved => "peerMisbehaved",
            Self::Rejected { .. } => "rejected",
            Self::SessionLost => "sessionLost",
            Self::TooLarge => "tooLarge",
            Self::Unauthorized => "unauthorized",
            Self::Unreachable => "unreachable",
        }
    }

    /// Returns the kind that is written so, with this status if it is that of a refusal.
    pub fn of_name(name: &str, status: Option<u16>) -> Option<Self> {
        let rejected = status.map(|status| Self::Rejected { status });
        NAMED.into_iter().chain(rejected).find(|kind| kind.name() == name)
    }

    /// Returns the status of a refusal.
    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Rejected { status } => Some(status),
            _ => None,
        }
    }

    /// Returns the kind in words for this audience.
    pub fn words(self, audience: Audience) -> String {
        match (audience, self) {
            (Audience::CommandLine, Self::Closed) => {
                "ended because the connection was closed".to_owned()
            }
            _ => self.to_string(),
        }
    }

    pub(crate) fn rejected(status: StatusCode) -> Self {
        Self::Rejected { status: status.as_u16() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BreakerOpen => f.write_str("was held back: the server keeps failing"),
            Self::Cancelled => f.write_str("was cancelled"),
            Self::Closed => f.write_str("ended because the link was closed"),
            Self::Config => f.write_str("was not sent"),
            Self::DeadlinePassed => f.write_str("passed its deadline"),
            Self::Exhausted => f.write_str("gave up"),
            Self::Incompatible => f.write_str("cannot be spoken to this server"),
            Self::Interrupted => f.write_str("was interrupted"),
            Self::PeerMisbehaved => f.write_str("got an answer that breaks the protocol"),
            Self::Rejected { status } => write!(f, "was rejected with status {status}"),
            Self::SessionLost => f.write_str("lost its session"),
            Self::TooLarge => f.write_str("got an answer that is larger than its limit"),
            Self::Unauthorized => f.write_str("was not authorized"),
            Self::Unreachable => f.write_str("could not reach the server"),
        }
    }
}

/// Every kind but `Rejected`, which has a status.
const NAMED: [Kind; 13] = [
    Kind::BreakerOpen,
    Kind::Cancelled,
    Kind::Closed,
    Kind::Config,
    Kind::DeadlinePassed,
    Kind::Exhausted,
    Kind::Incompatible,
    Kind::Interrupted,
    Kind::PeerMisbehaved,
    Kind::SessionLost,
    Kind::TooLarge,
    Kind::Unauthorized,
    Kind::Unreachable,
];

/// What happened last, in the terms of the layer where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The call itself is at fault, in this way.
    Config(Arc<str>),
    /// The credentials hook has no better credentials.
    Credentials(NoCredentials),
    /// A redirect to this place is not followed.
    Elsewhere(Arc<str>),
    /// The kind says it all.
    Nothing,
    /// A rule of this side.
    Rule(Rule),
    /// The server's own words.
    Said(Arc<str>),
    /// An HTTP status.
    Status(StatusCode),
    /// The connection failed.
    Transport(Failure),
}

impl Reason {
    /// Returns the reason in words for this audience.
    pub fn words(&self, audience: Audience) -> String {
        match (audience, self) {
            (_, Self::Credentials(none)) => none.words(audience),
            (_, Self::Transport(failure)) => failure.words(audience),
            (Audience::CommandLine, Self::Rule(Rule::BudgetEmpty)) => {
                "it was repeated too often".to_owned()
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(words) => f.write_str(words),
            Self::Credentials(none) => write!(f, "{none}"),
            Self::Elsewhere(place) => write!(f, "it leads to `{place}`, which is not followed"),
            Self::Nothing => Ok(()),
            Self::Rule(rule) => write!(f, "{rule}"),
            Self::Said(words) => write!(f, "the server said `{words}`"),
            Self::Status(status) => write!(f, "status {}", status.as_u16()),
            Self::Transport(failure) => write!(f, "{failure}"),
        }
    }
}
