//! The outcome of a call as the application got it, from a client or through a bridge.

use std::fmt;

use ridethrough::Error;

/// The outcome of a call for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It ended with a result.
    Answered(String),
    /// It ended without an answer.
    Failed { kind: String, may_have_run: bool },
    /// It ended with an error of the server.
    ServerError(String),
    /// The caller does not wait for it any more.
    TakenBack,
}

impl Told {
    pub(crate) fn by_client(result: Result<ridethrough::Json, Error>) -> Self {
        match result {
            Ok(result) => Self::Answered(result.as_str().to_owned()),
            Err(Error::Server(error)) => Self::ServerError(error.json.as_str().to_owned()),
            Err(error) => Self::Failed {
                kind: error.kind().map_or("other".to_owned(), |kind| format!("{kind:?}")),
                may_have_run: error.may_have_run(),
            },
        }
    }

    /// Whether the call may have run, as far as its caller knows.
    pub(crate) fn is_doubt(&self) -> bool {
        matches!(self, Self::Failed { may_have_run: true, .. })
    }

    /// Returns the name by which it is counted.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Answered(_) => "answered".to_owned(),
            Self::Failed { kind, may_have_run: true } => format!("{kind}, may have run"),
            Self::Failed { kind, .. } => format!("{kind}, not run"),
            Self::ServerError(_) => "the server's error".to_owned(),
            Self::TakenBack => "taken back".to_owned(),
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
