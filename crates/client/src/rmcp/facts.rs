//! What is known about a call without an answer, carried through an error of `rmcp`.
//!
//! `rmcp` has one place for it: the `data` of a JSON-RPC error. The facts are there under a name of their
//! own, which is removed from the server's errors: facts never come from the server.

use std::error::Error as StdError;
use std::time::Duration;

use ridethrough_core::{CallError, Kind};
use ridethrough_wire::message::code;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{ClientInitializeError, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is known about a call that ended without an answer.
///
/// ```no_run
/// # async fn example(service: rmcp::Peer<rmcp::RoleClient>) {
/// use ridethrough::rmcp::Facts;
/// use rmcp::model::CallToolRequestParams;
///
/// if let Err(error) = service.call_tool(CallToolRequestParams::new("deploy")).await {
///     match Facts::of(&error) {
///         Some(facts) if facts.may_have_run => eprintln!("look before you repeat it: {error}"),
///         Some(_) => eprintln!("it did not run: {error}"),
///         None => eprintln!("an error of the server, or of rmcp: {error}"),
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// How the call ended.
    pub kind: Kind,
    /// Whether the server may have run the request.
    pub may_have_run: bool,
    /// How many HTTP requests were made for this call: sends and resumes.
    pub attempts: u32,
    /// The time from the request to the end.
    pub elapsed: Duration,
    /// How long the server, or the breaker, asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl Facts {
    /// Returns the facts in an error of `rmcp`, or in one of its sources.
    ///
    /// `None` for an error of the server itself, and for `rmcp`'s own: a timeout or a cancellation by the
    /// caller, or a service that was closed.
    pub fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(facts) = Self::in_one(error) {
                return Some(facts);
            }
            next = error.source();
        }
        None
    }

    /// Looks at one error, without its sources; `rmcp`'s own do not name them.
    fn in_one(error: &(dyn StdError + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<ServiceError>() {
            return match error {
                ServiceError::McpError(data) => Self::read(data),
                ServiceError::TransportSend(error) => Self::of(&*error.error),
                _ => None,
            };
        }
        if let Some(error) = error.downcast_ref::<ClientInitializeError>() {
            return match error {
                ClientInitializeError::JsonRpcError(data) => Self::read(data),
                ClientInitializeError::TransportError { error, .. } => Self::of(&*error.error),
                ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                    Self::of(&**fallback)
                }
                _ => None,
            };
        }
        if let Some(data) = error.downcast_ref::<ErrorData>() {
            return Self::read(data);
        }
        error.downcast_ref::<CallError>().map(Self::from)
    }

    fn read(data: &ErrorData) -> Option<Self> {
        let written = data.data.as_ref()?.get(NAME)?;
        let written = Written::deserialize(written).ok()?;
        Some(Self {
            kind: Kind::of_name(&written.kind, written.status)?,
            may_have_run: written.may_have_run,
            attempts: written.attempts,
            elapsed: Duration::from_millis(written.elapsed_ms),
            retry_after: written.retry_after_ms.map(Duration::from_millis),
        })
    }
}

impl From<&CallError> for Facts {
    fn from(error: &CallError) -> Self {
        Self {
            kind: error.kind,
            may_have_run: error.may_have_run(),
            attempts: error.attempts,
            elapsed: error.elapsed,
            retry_after: error.retry_after,
        }
    }
}

/// Returns the error that `rmcp` gives to the caller: the whole report, and the facts beside it.
///
/// A program above `rmcp` may send a call again for the code or the words of its error. That of a call that may have
/// run has neither.
pub(super) fn error_data(error: &CallError) -> ErrorData {
    let written = Written {
        kind: error.kind.name().to_owned(),
        status: error.kind.status(),
        may_have_run: error.may_have_run(),
        attempts: error.attempts,
        elapsed_ms: millis(error.elapsed),
        retry_after_ms: error.retry_after.map(millis_up),
    };
    let facts = Some(json!({ NAME: written }));
    if !error.may_have_run() {
        return ErrorData::new(NO_ANSWER, error.report(), facts);
    }
    ErrorData::new(MAY_HAVE_RUN, error.words_of_doubt(), facts)
}

/// Returns a server's error, without anything that could pass for facts.
pub(super) fn without_facts(mut error: ErrorData) -> ErrorData {
    if let Some(Value::Object(data)) = &mut error.data {
        data.remove(NAME);
    }
    error
}

/// The facts as they are written in `data`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    may_have_run: bool,
    attempts: u32,
    elapsed_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a time in milliseconds, rounded up, so that a wait is never too short.
fn millis_up(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The name of the facts in the `data` of an error.
const NAME: &str = "ridethrough";

/// The code of a call that surely did not run.
const NO_ANSWER: ErrorCode = ErrorCode(code::SERVER_ERROR as i32);
const MAY_HAVE_RUN: ErrorCode = ErrorCode(code::MAY_HAVE_RUN as i32);

#[cfg(test)]
mod tests {
    use ridethrough_core::{CallName, Delivery, Reason};

    use super::*;

    #[test]
    fn facts_come_out_of_an_error_as_they_went_in_whatever_the_kind() {
        let rejected = Kind::Rejected { status: 503 };
        for kind in [Kind::Interrupted, Kind::BreakerOpen, rejected] {
            for delivery in [Delivery::NotSent, Delivery::Refused, Delivery::Unknown] {
                let error = error(kind, delivery);

                let facts = Facts::of(&ServiceError::McpError(error_data(&error))).unwrap();

                assert_eq!(facts, Facts::from(&error));
                assert_eq!(facts.may_have_run, delivery == Delivery::Unknown);
            }
        }
    }

    #[test]
    fn a_call_that_was_asked_for_wrongly_has_facts_too() {
        let error = error(Kind::Config, Delivery::NotSent);

        assert_eq!(Facts::of(&error_data(&error)), Some(Facts::from(&error)));
    }

    #[test]
    fn facts_are_found_behind_other_errors() {
        let data = error_data(&error(Kind::Exhausted, Delivery::Unknown));
        let begun = ClientInitializeError::JsonRpcError(data.clone());
        let told = error(Kind::Unreachable, Delivery::NotSent);

        assert_eq!(Facts::of(&data).unwrap().kind, Kind::Exhausted);
        assert_eq!(Facts::of(&begun).unwrap().kind, Kind::Exhausted);
        assert_eq!(Facts::of(&std::io::Error::other(Wrapped(data))).unwrap().kind, Kind::Exhausted);
        assert_eq!(Facts::of(&told).unwrap().kind, Kind::Unreachable);
        assert_eq!(Facts::of(&ServiceError::TransportClosed), None);
    }

    #[test]
    fn a_wait_is_never_told_shorter_than_it_is() {
        let mut error = error(Kind::BreakerOpen, Delivery::NotSent);
        error.retry_after = Some(Duration::from_micros(1500));

        let facts = Facts::of(&error_data(&error)).unwrap();

        assert_eq!(facts.retry_after, Some(Duration::from_millis(2)));
    }

    #[test]
    fn the_words_of_an_error_are_the_whole_story_unless_they_could_make_a_program_repeat_the_call()
    {
        let unsent = error(Kind::Unreachable, Delivery::NotSent);
        let in_doubt = error(Kind::Interrupted, Delivery::Unknown);

        let (unsent_told, told) = (error_data(&unsent), error_data(&in_doubt));

        assert_eq!((unsent_told.code.0, &*unsent_told.message), (-32000, &*unsent.report()));
        assert_eq!(told.code.0, -32050);
        assert!(told.message.starts_with("The answer was lost on its way. The server may"));
    }

    /// An error with a source.
    #[derive(Debug, thiserror::Error)]
    #[error("wrapped")]
    struct Wrapped(#[source] ErrorData);

    fn error(kind: Kind, delivery: Delivery) -> CallError {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let mut error = CallError::new(kind, delivery, call, Reason::Nothing);
        (error.attempts, error.elapsed) = (3, Duration::from_millis(2300));
        error.retry_after = Some(Duration::from_secs(7));
        error
    }
}
