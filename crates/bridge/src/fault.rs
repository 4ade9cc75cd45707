//! The JSON-RPC error for a call that got no answer: the whole story as its message, and the facts as its
//! data.

use ridethrough::Error;
use ridethrough_core::message::Answer;
use ridethrough_core::message::code;
use ridethrough_core::message::code::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use ridethrough_core::secrets::Secrets;
use ridethrough_core::{CallError, CallName, Delivery, Facts, Kind, Reason};

use crate::advice::Advice;
use crate::harmless::{excerpt, harmless};

/// Returns the answer to the host for a call that failed.
pub(crate) fn answer(error: &CallError, advice: &Advice) -> Answer {
    Facts::of(error).answer(code::SERVER_ERROR, &advice.added_to(error.story(), error))
}

/// Returns the refusal of a round whose call is lost; whether the server has run it is unknown.
pub(crate) fn lost_round(code: i64, message: &str) -> Answer {
    let mut facts = Facts::unsent("interrupted");
    facts.may_have_run = true;
    facts.answer(code, message)
}

/// Returns the refusal of a call that was not sent, because a person must log in first by this command.
pub(crate) fn login_needed(message: &str, command: &str) -> Answer {
    let mut facts = Facts::unsent("loginNeeded");
    facts.command = Some(command);
    facts.answer(code::SERVER_ERROR, message)
}

/// Returns why the upstream cannot be connected to, for people: safe for a terminal, and short.
///
/// Secrets are masked before words are cut, because half a secret would not be recognised.
pub(crate) fn report(error: &Error, advice: &Advice, secrets: &Secrets) -> String {
    let report = match error {
        Error::Call(error) => advice.added_to(error.story(), error),
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
    use std::time::Duration;

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
