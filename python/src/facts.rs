//! What is known about a call without an answer, as JSON.

use std::time::Duration;

use ridethrough::Json;
use ridethrough::error::CallError;
use serde::Serialize;

/// The facts as Python reads them; the names are those of the `rmcp` adapter.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    pub(crate) may_have_run: bool,
    attempts: u32,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    pub(crate) report: String,
    message: String,
}

impl Facts {
    pub(crate) fn of(error: &CallError) -> Self {
        Self {
            kind: error.kind.name(),
            status: error.kind.status(),
            may_have_run: error.may_have_run(),
            attempts: error.attempts,
            elapsed_ms: millis(error.elapsed),
            retry_after_ms: error.retry_after.map(millis),
            report: error.report(),
            message: error.to_string(),
        }
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("made of numbers and strings")
    }
}

/// Returns the facts in an error that tells a doubt.
pub(crate) fn told_in(error: &Json) -> Json {
    let [facts, words] = error.pick(["data", "message"]);
    let facts = facts.unwrap_or_else(Json::empty_object);
    let words = words.into_iter().flat_map(|it| [("report", it.clone()), ("message", it)]);
    facts.with_members(words.map(|(name, it)| (name.to_owned(), it)))
}

/// Returns a time in milliseconds, rounded up, so that a wait is never reported too short.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
