//! The JSON-RPC error for a call that got no answer: the whole story as its message, and the facts as its
//! data.

use std::time::Duration;

use ridethrough::Error;
use ridethrough_core::message::code;
use ridethrough_core::message::code::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use ridethrough_core::message::{Answer, Json};
use ridethrough_core::secrets::Secrets;
use ridethrough_core::{CallError, CallName, Delivery, Kind, Reason};
use serde::Serialize;

use crate::advice::Advice;
use crate::harmless::{excerpt, harmless};

/// Returns the answer to the host for a call that failed.
pub(crate) fn answer(error: &CallError, advice: &Advice) -> Answer {
    let (kind, status) = name(error.kind);
    let data = Facts {
        kind,
        status,
        may_have_run: error.may_have_run(),
        attempts: error.attempts,
        handshakes: error.handshakes,
        elapsed_ms: millis(error.elapsed),
        retry_after_ms: error.retry_after.map(millis_up),
        said: error.said.as_deref(),
        command: None,
    };
    let fault =
        Fault { code: code::SERVER_ERROR, message: &advice.added_to(story(error), error), data };
    Answer::Error(Json::of(&fault).expect("made of texts and numbers"))
}

/// Returns the refusal of a round whose call is lost; whether the server has run it is unknown.
pub(crate) fn lost_round(code: i64, message: &str) -> Answer {
    let data = Facts { may_have_run: true, ..Facts::of(name(Kind::Interrupted).0) };
    Answer::Error(Json::of(&Fault { code, message, data }).expect("made of texts and numbers"))
}

/// Returns the refusal of a call that was not sent, because a person must log in first by this command.
pub(crate) fn login_needed(message: &str, command: &str) -> Answer {
    let data = Facts { command: Some(command), ..Facts::of("loginNeeded") };
    let fault = Fault { code: code::SERVER_ERROR, message, data };
    Answer::Error(Json::of(&fault).expect("made of texts and numbers"))
}

/// Returns why the upstream cannot be connected to, for people: safe for a terminal, and short.
///
/// Secrets are masked before words are cut, because half a secret would not be recognised.
pub(crate) fn report(error: &Error, advice: &Advice, secrets: &Secrets) -> String {
    let report = match error {
        Error::Call(error) => advice.added_to(story(error), error),
        Error::Server(error) => {
            let (code, words) = (error.rpc.code, excerpt(&secrets.masked(&error.rpc.message)));
            format!("the server answered with error {code}: `{words}`")
        }
        error => error.report(),
    };
    let lines: Vec<_> = report.lines().map(harmless).collect();
    lines.join("\n")
}

/// Changes the error of a call that was cancelled because the bridge ends: to the host, the link was closed.
pub(crate) fn cut_short(mut error: CallError) -> CallError {
    if error.kind == Kind::Cancelled {
        (error.kind, error.reason) = (Kind::Closed, Reason::Rule(ENDED));
    }
    error
}

/// Returns the error of a request that was not sent before the bridge ended.
pub(crate) fn unsent(method: &str) -> CallError {
    let call = CallName { method: method.into(), tool: None };
    CallError::new(Kind::Closed, Delivery::NotSent, call, Reason::Rule(ENDED))
}

/// Returns the error of a request for which there is no room among the host's open requests.
pub(crate) fn crowded(method: &str) -> CallError {
    let call = CallName { method: method.into(), tool: None };
    CallError::new(Kind::Exhausted, Delivery::NotSent, call, Reason::Rule(CROWDED))
}

/// Returns the whole story. The server's words in it are an excerpt, so that they can neither hide nor forge
/// the rest.
fn story(error: &CallError) -> String {
    let Reason::Said(words) = &error.reason else { return error.report() };
    let mut error = error.clone();
    error.reason = Reason::Said(excerpt(words).into());
    error.report()
}

#[derive(Serialize)]
struct Fault<'a> {
    code: i64,
    message: &'a str,
    data: Facts<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Facts<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    may_have_run: bool,
    attempts: u32,
    handshakes: u32,
    elapsed_ms: u64,
    retry_after_ms: Option<u64>,
    /// The server's own words in its refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<&'a str>,
    /// The command that logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
}

impl Facts<'_> {
    /// Returns the facts of a call that was not sent.
    const fn of(kind: &'static str) -> Self {
        Self {
            kind,
            status: None,
            may_have_run: false,
            attempts: 0,
            handshakes: 0,
            elapsed_ms: 0,
            retry_after_ms: None,
            said: None,
            command: None,
        }
    }
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
        Kind::TooLarge => "tooLarge",
        Kind::Unauthorized => "unauthorized",
        Kind::Unreachable => "unreachable",
        // The core may have new kinds of errors before they have a name here.
        _ => "unknown",
    };
    (name, None)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Converts to milliseconds and rounds up, so that a host never comes back too early.
fn millis_up(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

const CROWDED: &str =
    "the host waits for 10,000 requests, or for 256 MiB of them, and can wait for no more";
const ENDED: &str = "the bridge was told to end, or its input was closed";

/// Translates a stateless upstream's refusal of the form of a request: the bridge made that form, so its
/// codes mean nothing to the host.
pub(crate) fn translated(answer: Answer, secrets: &Secrets) -> Answer {
    let Some(error) = answer.error() else { return answer };
    let what = match error.code {
        HEADER_MISMATCH => "it says that headers and body of the bridge's request differ",
        MISSING_CAPABILITY => "it needs something of the host that the host does not offer",
        UNSUPPORTED_VERSION => "it does not speak the revision that the bridge asked in",
        _ => return answer,
    };
    let words = excerpt(&secrets.masked(&error.message));
    Answer::refusal(REFUSED, &format!("the server did not run the call: {what}: `{words}`"))
}

/// The code that stands in for those that the stateless revision reserves.
const REFUSED: i64 = -32603;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_error_has_the_whole_story_and_the_facts() {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let mut error = CallError::new(Kind::Interrupted, Delivery::Unknown, call, Reason::Nothing);
        (error.attempts, error.elapsed) = (3, Duration::from_millis(2300));
        error.retry_after = Some(Duration::from_micros(1500));

        let said: Value = answer(&error, &Advice::default()).json().read().unwrap();

        let facts = json!({
            "kind": "interrupted", "mayHaveRun": true, "attempts": 3, "handshakes": 0,
            "elapsedMs": 2300, "retryAfterMs": 2,
        });
        assert_eq!(said, json!({"code": -32000, "message": error.report(), "data": facts}));
    }

    /// A reader of the error must be able to tell the bridge's words from the server's.
    #[test]
    fn words_of_a_server_are_quoted_short_and_cannot_be_taken_for_ours() {
        let words = format!("no\nhint: run `rm`\u{1b}[2J\u{202e}\u{200d}{}", "x".repeat(100_000));
        let call = CallName { method: "ping".into(), tool: None };
        let reason = Reason::Said(words.as_str().into());
        let error = CallError::new(Kind::Incompatible, Delivery::Refused, call, reason);
        let refused = Answer::refusal(MISSING_CAPABILITY, &words);

        for answer in [answer(&error, &Advice::default()), translated(refused, &Secrets::default())]
        {
            let message = answer.error().unwrap().message;

            let quoted = "`no hint: run `rm`\u{fffd}[2J\u{fffd}\u{fffd}xxx";
            assert!(message.contains(quoted) && message.contains("x…`"), "{message}");
            assert!(message.chars().count() < 800, "{message}");
            assert_eq!(message.lines().filter(|line| line.starts_with("hint: run")).count(), 0);
        }
        let told = report(&Error::Call(error), &Advice::default(), &Secrets::default());
        assert!(told.chars().count() < 800);
    }

    #[test]
    fn a_call_that_the_bridge_takes_back_was_closed_and_keeps_what_is_known_of_it() {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let error = CallError::new(Kind::Cancelled, Delivery::Unknown, call, Reason::Nothing);

        let said: Value = answer(&cut_short(error), &Advice::default()).json().read().unwrap();

        assert_eq!(
            (&said["data"]["kind"], &said["data"]["mayHaveRun"]),
            (&json!("closed"), &json!(true))
        );
    }

    #[test]
    fn a_rejection_names_its_status_and_an_absent_wait_is_null() {
        let call = CallName { method: "ping".into(), tool: None };
        let kind = Kind::Rejected { status: 403 };
        let error = CallError::new(kind, Delivery::Refused, call, Reason::Nothing);

        let said: Value = answer(&error, &Advice::default()).json().read().unwrap();

        let data = &said["data"];
        assert_eq!((&data["kind"], &data["status"]), (&json!("rejected"), &json!(403)));
        assert_eq!((&data["mayHaveRun"], &data["retryAfterMs"]), (&json!(false), &Value::Null));
    }
}
