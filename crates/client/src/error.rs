//! Errors of calls: why a call has no result.

mod task;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ridethrough_core::Outcome;
use ridethrough_wire::message::code;
use ridethrough_wire::message::{Answer, Json};

use crate::model::{self, UrlRequest};

pub use task::{TaskEnd, TaskError};

pub use ridethrough_core::{Advice, Audience, CallError, Delivery, Explanation, Kind, Reason};
pub use ridethrough_wire::message::RpcError;

/// The error of a call that has no result.
///
/// ```no_run
/// # async fn example(client: ridethrough::Client) {
/// use ridethrough::Error;
/// use ridethrough::error::Kind;
///
/// match client.call_tool("deploy", ()).await {
///     Ok(result) => println!("{}", result.text()),
///     Err(Error::Server(error)) => println!("it said {}", error.rpc.message),
///     Err(error) if error.may_have_run() => println!("look first: {}", error.report()),
///     Err(error) if error.kind() == Some(Kind::Unreachable) => println!("later: {error}"),
///     Err(error) => println!("{}", error.report()),
/// }
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The result could not be read as the type that the caller asked for. It is included as it was sent.
    Answer {
        /// The method that was called.
        method: Arc<str>,
        /// The result, as the server sent it.
        result: Json,
        /// Why the result could not be read.
        source: ReadError,
    },
    /// There is no answer. The error says what happened, what was tried, and whether the server may have run
    /// the call.
    Call(CallError),
    /// The list was given up: it has too many pages, too many bytes, or a cursor that comes twice.
    Endless {
        /// The method that lists.
        method: &'static str,
        /// How many pages were read.
        pages: usize,
        /// Why no more pages were read.
        reason: &'static str,
    },
    /// The server answered with an error.
    Server(ServerError),
    /// The server made a task of the call, and the task has no result.
    Task(TaskError),
}

/// The place where a result differs from the type that it is read as. It quotes no value, which may be
/// confidential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(String);

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        let place = format!("line {} column {}", error.line(), error.column());
        let words = error.to_string();
        // The name of a missing field comes from the type that is read; everything else that serde says may
        // quote the data.
        let missing = words.strip_prefix("missing field `").and_then(|it| it.split('`').next());
        match missing {
            Some(field) => Self(format!("missing field `{field}` at {place}")),
            None => Self(format!("a value of another form at {place}")),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

/// A JSON-RPC error that the server answered with.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerError {
    /// The code and the message.
    pub rpc: RpcError,
    /// The error object as it was sent, `data` included.
    pub json: Json,
}

impl ServerError {
    /// Returns the URLs that a person must visit before the call can succeed, if the server answered with
    /// -32042 (revision 2025-11-25). Call again when [`Notification::ElicitationComplete`] has named them
    /// all, or the person says so.
    ///
    /// [`Notification::ElicitationComplete`]: crate::model::Notification::ElicitationComplete
    pub fn required_urls(&self) -> Vec<UrlRequest> {
        if self.rpc.code != code::URL_REQUIRED {
            return Vec::new();
        }
        let requests = self.json.member("data").and_then(|data| data.member("elicitations"));
        let requests = requests.and_then(|list| list.elements()).unwrap_or_default();
        requests.into_iter().filter_map(|request| model::read(request).ok()).collect()
    }
}

impl Error {
    /// Whether the server may have run the request. If it answered, it must be assumed to have run it.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Answer { .. } | Self::Endless { .. } | Self::Server(_) | Self::Task(_) => true,
            Self::Call(error) => error.may_have_run(),
        }
    }

    /// Returns how the call ended, if there was no answer.
    pub const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Call(error) => Some(error.kind),
            _ => None,
        }
    }

    /// Returns how long the server, or the breaker, asks to be left alone.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Call(error) => error.retry_after,
            _ => None,
        }
    }

    /// Returns the failed call, if there was no answer: what happened, how often it was tried, for how long.
    pub const fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the server's own error, if it answered with one.
    pub const fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Server(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error as text in three parts: what happened, what was tried, what to do. An error of the
    /// server has one part: what it said.
    pub fn report(&self) -> String {
        self.explain().to_string()
    }

    /// Returns what happened, what was tried, and what to do.
    pub fn explain(&self) -> Explanation {
        self.explain_to(Audience::Program)
    }

    /// Returns what happened, what was tried, and what to do, in words for this audience.
    pub fn explain_to(&self, audience: Audience) -> Explanation {
        match self {
            Self::Answer { source, .. } => Explanation::new(format!("{self}: {source}"))
                .with_hint("the result as it was sent is in the error"),
            Self::Call(error) => error.explain_to(audience),
            Self::Endless { .. } => Explanation::new(self.to_string())
                .with_hint("take it page by page, or report it to the server's author"),
            Self::Server(_) => Explanation::new(self.to_string()),
            Self::Task(error) => Explanation::new(error.to_string()).with_hint(error.advice()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { method, .. } => {
                write!(f, "the result of `{method}` has another form than was asked for")
            }
            Self::Call(error) => error.fmt(f),
            Self::Endless { method, pages, reason } => {
                write!(f, "`{method}` was given up after {pages} pages: {reason}")
            }
            Self::Server(error) => error.fmt(f),
            Self::Task(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Answer { source, .. } => Some(source),
            // Their words are this error's own; there is nothing below.
            Self::Call(_) | Self::Endless { .. } | Self::Server(_) | Self::Task(_) => None,
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<TaskError> for Error {
    fn from(error: TaskError) -> Self {
        Self::Task(error)
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

/// Returns the result in an outcome, or the error.
pub(crate) fn result(outcome: Outcome) -> Result<Json, Error> {
    match outcome? {
        Answer::Result(result) => Ok(result),
        Answer::Error(json) => {
            let rpc = Answer::Error(json.clone()).error().unwrap_or_default();
            Err(Error::Server(ServerError { rpc, json }))
        }
    }
}

/// All faults in a client's settings, each with field, value and bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    faults: Vec<String>,
}

impl BuildError {
    pub(crate) const fn new(faults: Vec<String>) -> Self {
        Self { faults }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.faults.join("; "))
    }
}

impl std::error::Error for BuildError {}

#[cfg(test)]
mod tests {
    use ridethrough_core::{CallName, Cause, Failure};

    use super::*;

    #[test]
    fn what_is_wrong_with_a_result_is_told_without_what_is_in_it() {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is never read")]
        struct Wanted {
            name: u8,
        }
        let read = |text: &str| serde_json::from_str::<Wanted>(text).map_err(ReadError::from);

        let quoted = read(r#"{"name":"patient 4711"}"#).unwrap_err();
        let missing = read("{}").unwrap_err();

        assert_eq!(quoted.to_string(), "a value of another form at line 1 column 22");
        assert_eq!(missing.to_string(), "missing field `name` at line 1 column 2");
    }

    #[test]
    fn an_error_and_its_sources_tell_everything_once() {
        let failure = Failure::not_sent(Cause::NameUnknown).with_detail("no such name");
        let call = CallName { method: "ping".into(), tool: None };
        let reason = Reason::Transport(failure.clone());
        let error: Error =
            CallError::new(Kind::Unreachable, Delivery::NotSent, call, reason).into();

        let mut told = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            told = format!("{told}: {inner}");
            source = inner.source();
        }

        assert_eq!(told.matches("no such name").count(), 1, "{told}");
        assert!(matches!(error.call(), Some(it) if it.reason == Reason::Transport(failure)));
    }

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
