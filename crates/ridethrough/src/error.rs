//! Why a call gave no result.

use std::fmt;

use ridethrough_core::CallError;
use ridethrough_core::message::{Json, RpcError};

use crate::model::{self, UrlRequest};

/// A call without a result.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The answer is not what the caller wanted to read it as. It is there, as it was sent.
    Answer {
        /// The result.
        result: Json,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There is no answer: what happened, what was tried, and whether the server may have run it.
    Call(CallError),
    /// The list has no end that was worth waiting for.
    Endless {
        /// The method that lists.
        method: &'static str,
        /// How many pages were read.
        pages: usize,
        /// Why no more were.
        reason: &'static str,
    },
    /// The server answered with an error of its own.
    Server(ServerError),
}

/// An error that the server answered with.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerError {
    /// Code and message.
    pub rpc: RpcError,
    /// The error object as it was sent, `data` included.
    pub json: Json,
}

impl ServerError {
    /// What a person must do at these URLs before the call can succeed: the server answered with
    /// -32042 (revision 2025-11-25). When [`Notification::ElicitationComplete`] has named them all, or
    /// the person says so, call again.
    ///
    /// [`Notification::ElicitationComplete`]: crate::model::Notification::ElicitationComplete
    pub fn required_urls(&self) -> Vec<UrlRequest> {
        if self.rpc.code != URL_REQUIRED {
            return Vec::new();
        }
        let requests = self.json.member("data").and_then(|data| data.member("elicitations"));
        let requests = requests.and_then(|list| list.elements()).unwrap_or_default();
        requests.into_iter().filter_map(|request| model::read(request).ok()).collect()
    }
}

impl Error {
    /// Whether the server may have run the request. It did, for all that is known, if it answered.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Answer { .. } | Self::Endless { .. } | Self::Server(_) => true,
            Self::Call(error) => error.may_have_run(),
        }
    }

    /// The failed call, if there was no answer.
    pub const fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }

    /// The server's own error, if it answered with one.
    pub const fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Server(error) => Some(error),
            _ => None,
        }
    }

    /// The story in three parts: what happened, what was tried, what to do. An answer of the server
    /// has one part only: what it said.
    pub fn report(&self) -> String {
        match self {
            Self::Call(error) => error.report(),
            Self::Endless { .. } => {
                format!("{self}\nhint: take it page by page, or report it to the server's author")
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { .. } => f.write_str("the result has another form than was asked for"),
            Self::Call(error) => error.fmt(f),
            Self::Endless { method, pages, reason } => {
                write!(f, "`{method}` was given up after {pages} pages: {reason}")
            }
            Self::Server(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Answer { source, .. } => Some(source),
            // Their words are this error's own; there is nothing below.
            Self::Call(_) | Self::Endless { .. } | Self::Server(_) => None,
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server answered with error {}: `{}`", self.rpc.code, self.rpc.message)
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerError").field("code", &self.rpc.code).finish_non_exhaustive()
    }
}

impl std::error::Error for ServerError {}

const URL_REQUIRED: i64 = -32042;

#[cfg(test)]
mod tests {
    use ridethrough_core::message::Answer;

    use super::*;

    #[test]
    fn an_error_that_sends_a_person_to_a_url_says_where() {
        let data = r#"{"elicitations":[{"mode":"url","message":"log in","url":"https://a.example/","elicitationId":"e"},7]}"#;
        let error = |code: i64| {
            let json = format!(r#"{{"code":{code},"message":"first this","data":{data}}}"#);
            let json = Json::new(json).unwrap();
            let rpc = Answer::Error(json.clone()).error().unwrap();
            ServerError { rpc, json }
        };

        let urls = error(-32042).required_urls();

        assert_eq!(urls.len(), 1);
        assert_eq!((&*urls[0].url, &*urls[0].elicitation_id), ("https://a.example/", "e"));
        assert!(error(-32000).required_urls().is_empty());
    }
}
