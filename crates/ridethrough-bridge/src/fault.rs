//! A call without an answer, in the words of JSON-RPC: the whole story as its message, and the facts
//! as its data.

use std::time::Duration;

use ridethrough_core::message::code::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{CallError, Kind};
use serde::Serialize;

/// The error that the host is answered with.
pub(crate) fn answer(error: &CallError) -> Answer {
    let (kind, status) = name(error.kind);
    let data = Facts {
        kind,
        status,
        may_have_run: error.may_have_run(),
        attempts: error.attempts,
        elapsed_ms: millis(error.elapsed),
        retry_after_ms: error.retry_after.map(millis_up),
    };
    let fault = Fault { code: NO_ANSWER, message: &error.report(), data };
    Answer::Error(Json::of(&fault).expect("made of texts and numbers"))
}

#[derive(Serialize)]
struct Fault<'a> {
    code: i64,
    message: &'a str,
    data: Facts,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    may_have_run: bool,
    attempts: u32,
    elapsed_ms: u64,
    retry_after_ms: Option<u64>,
}

const fn name(kind: Kind) -> (&'static str, Option<u16>) {
    let name = match kind {
        Kind::BreakerOpen => "breakerOpen",
        Kind::Cancelled => "cancelled",
        Kind::Closed => "closed",
        Kind::Config => "config",
        Kind::DeadlinePassed => "deadlinePassed",
        Kind::Exhausted => "exhausted",
        Kind::Incompatible => "incompatible",
        Kind::Interrupted => "interrupted",
        Kind::PeerMisbehaved => "peerMisbehaved",
        Kind::Rejected { status } => return ("rejected", Some(status)),
        Kind::SessionLost => "sessionLost",
        Kind::Unauthorized => "unauthorized",
        Kind::Unreachable => "unreachable",
        // The machine may learn new kinds before there is a word for them here.
        _ => "unknown",
    };
    (name, None)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A wait is never told shorter than it is.
fn millis_up(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The first code that JSON-RPC leaves to implementations.
const NO_ANSWER: i64 = -32000;

/// What a stateless upstream says about the request that the bridge made of the host's. The host made none
/// of that kind, and has no use for the codes.
pub(crate) fn translated(answer: Answer) -> Answer {
    let Some(error) = answer.error() else { return answer };
    let what = match error.code {
        HEADER_MISMATCH => "it says that headers and body of the bridge's request differ",
        MISSING_CAPABILITY => "it needs something of the host that the host does not offer",
        UNSUPPORTED_VERSION => "it does not speak the revision that the bridge asked in",
        _ => return answer,
    };
    Answer::refusal(REFUSED, &format!("the server did not run the call: {what}: {}", error.message))
}

/// Codes that the stateless revision keeps for itself.
const REFUSED: i64 = -32603;

#[cfg(test)]
mod tests {
    use ridethrough_core::{CallName, Delivery, Reason};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_error_has_the_whole_story_and_the_facts() {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let mut error = CallError::new(Kind::Interrupted, Delivery::Unknown, call, Reason::Nothing);
        (error.attempts, error.elapsed) = (3, Duration::from_millis(2300));
        error.retry_after = Some(Duration::from_micros(1500));

        let said: Value = answer(&error).json().read().unwrap();

        let facts = json!({
            "kind": "interrupted", "mayHaveRun": true, "attempts": 3,
            "elapsedMs": 2300, "retryAfterMs": 2,
        });
        assert_eq!(said, json!({"code": -32000, "message": error.report(), "data": facts}));
    }

    #[test]
    fn a_rejection_names_its_status_and_an_absent_wait_is_null() {
        let call = CallName { method: "ping".into(), tool: None };
        let kind = Kind::Rejected { status: 403 };
        let error = CallError::new(kind, Delivery::Refused, call, Reason::Nothing);

        let said: Value = answer(&error).json().read().unwrap();

        let data = &said["data"];
        assert_eq!((&data["kind"], &data["status"]), (&json!("rejected"), &json!(403)));
        assert_eq!((&data["mayHaveRun"], &data["retryAfterMs"]), (&json!(false), &Value::Null));
    }
}
