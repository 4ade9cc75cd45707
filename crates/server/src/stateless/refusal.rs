//! Refusals of stateless requests, and the status that goes with each code (2026-07-28, Streamable HTTP).

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ridethrough_wire::message::{Answer, Id, Json, code};
use ridethrough_wire::stateless::supported;
use serde_json::{Value, json};

use crate::fault::error;

/// The refusal of a request before anything is run.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: i64,
    message: String,
    data: Option<Value>,
    status: StatusCode,
}

impl Refusal {
    pub(crate) fn new(code: i64, message: &str) -> Self {
        Self { code, message: message.to_owned(), data: None, status: StatusCode::BAD_REQUEST }
    }

    /// Returns the refusal for a header that is missing, or differs from the body.
    pub(crate) fn header(message: &str) -> Self {
        Self::new(code::HEADER_MISMATCH, &format!("{message}; nothing was run"))
    }

    /// Returns the refusal for a member of `_meta` that is missing or invalid.
    pub(crate) fn incomplete(key: &str) -> Self {
        let message = format!("`{key}` is missing in `_meta`; nothing was run");
        Self::new(code::INVALID_PARAMS, &message)
    }

    /// Returns the refusal for a revision that is not spoken here.
    pub(crate) fn unsupported(requested: &str) -> Self {
        let data = json!({ "supported": supported(), "requested": requested });
        let refusal = Self::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version");
        Self { data: Some(data), ..refusal }
    }

    /// Returns the refusal for a method that does not exist in this revision.
    pub(crate) fn no_method(method: &str) -> Self {
        let message = format!("Method not found: {method}");
        let refusal = Self::new(code::METHOD_NOT_FOUND, &message);
        Self { status: StatusCode::NOT_FOUND, ..refusal }
    }

    /// Returns the status and the body of the answer.
    pub(crate) fn answer(self, id: &Id) -> (StatusCode, Bytes) {
        (self.status, error(Some(id), self.code, &self.message, self.data))
    }
}

/// Returns the status of an answer whose head was not sent yet.
pub(crate) fn status_of(answer: &Answer) -> StatusCode {
    match answer.error().map(|error| error.code) {
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(code::MISSING_CAPABILITY) => StatusCode::BAD_REQUEST,
        Some(_) if over_quota(answer).is_some() => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

/// Returns when to try again, if the backend refused a call because its principal has made too many.
pub(crate) fn over_quota(answer: &Answer) -> Option<Duration> {
    let Answer::Error(error) = answer else { return None };
    let [kind, wait] = error.member("data")?.pick(["kind", "retryAfterMs"]);
    let is_it = kind.is_some_and(|kind| kind.string().as_deref() == Some(OVER_QUOTA));
    let wait = wait.and_then(|wait| wait.read()).unwrap_or(0);
    is_it.then(|| Duration::from_millis(wait))
}

/// Returns the answer to a call that failed because its client cannot answer a question.
pub(crate) fn missing_capability(needed: &str) -> Answer {
    let required = match needed.split_once('.') {
        Some((family, kind)) => json!({ family: { kind: {} } }),
        None => json!({ needed: {} }),
    };
    Answer::Error(Json::from(json!({
        "code": code::MISSING_CAPABILITY,
        "message": format!("the call needs the capability `{needed}`; it may have run in part"),
        "data": { "requiredCapabilities": required },
    })))
}

/// The kind of error of a backend for a call beyond what its principal may make.
const OVER_QUOTA: &str = "quotaExceeded";
