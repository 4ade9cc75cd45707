//! The answer to the host for a call that got none: the whole story and the facts, or, of a call that may have
//! run, what the core says of a doubt.

use ridethrough::Error;
use ridethrough_core::{
    CallError, CallName, Delivery, Doubt, DoubtForm, Facts, Kind, Reason, Rule,
};
use ridethrough_wire::message::code;
use ridethrough_wire::message::code::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::secrets::Secrets;

use crate::advice::Advice;
use crate::harmless::{excerpt, harmless};

/// Returns the answer to the host for a handshake or a call that surely did not run.
pub(crate) fn answer(error: &CallError, advice: &Advice) -> Answer {
    Facts::of(error).answer(code::SERVER_ERROR, &advice.added_to(error.story(), error))
}

/// Returns what the host is told of a call that may have run; `None` if it surely did not.
pub(crate) fn doubt(error: &CallError) -> Option<Doubt> {
    error.may_have_run().then(|| Doubt::of(&Facts::of(error)))
}

/// Returns the answer to a round whose call is lost; whether the server has run it is unknown.
pub(crate) fn lost_round(form: DoubtForm) -> Answer {
    let mut facts = Facts::unsent("interrupted");
    facts.may_have_run = true;
    Doubt::of(&facts).because(UNKNOWN_ROUND).answer(form)
}

/// Returns the answer without secrets: words of the server may be among the facts.
pub(crate) fn masked(answer: Answer, secrets: &Secrets) -> Answer {
    let masked = secrets.masked_json(answer.json().as_str()).and_then(|it| Json::new(it).ok());
    match (answer, masked) {
        (answer, None) => answer,
        (Answer::Error(_), Some(masked)) => Answer::Error(masked),
        (Answer::Result(_), Some(masked)) => Answer::Result(masked),
    }
}

const UNKNOWN_ROUND: &str = "The call cannot go on: its `requestState` is used up, is too old, or is of an earlier run of the bridge.";

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
        (error.kind, error.reason) = (Kind::Closed, Reason::Rule(Rule::BridgeEnded));
    }
    error
}

/// Returns the error of a request that was not sent before the bridge ended.
pub(crate) fn unsent(method: &str) -> CallError {
    let call = CallName { method: method.into(), tool: None };
    CallError::new(Kind::Closed, Delivery::NotSent, call, Reason::Rule(Rule::BridgeEnded))
}

/// Returns the error of a request for which there is no room among the host's open requests.
pub(crate) fn crowded(method: &str) -> CallError {
    let call = CallName { method: method.into(), tool: None };
    CallError::new(Kind::Exhausted, Delivery::NotSent, call, Reason::Rule(Rule::HostCrowds))
}

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
    fn an_error_of_a_call_that_did_not_run_has_the_whole_story_and_the_facts() {
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let mut error = CallError::new(Kind::Interrupted, Delivery::Refused, call, Reason::Nothing);
        (error.attempts, error.elapsed) = (3, Duration::from_millis(2300));
        error.retry_after = Some(Duration::from_micros(1500));

        let said: Value = answer(&error, &Advice::default()).json().read().unwrap();

        let facts = json!({
            "kind": "interrupted", "mayHaveRun": false, "attempts": 3, "handshakes": 0,
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

        let told = doubt(&cut_short(error)).unwrap().answer(DoubtForm::Result);

        let said: Value = told.json().read().unwrap();
        let facts = &said["_meta"]["ridethrough/doubt"];
        assert_eq!((&facts["kind"], &facts["mayHaveRun"]), (&json!("closed"), &json!(true)));
    }

    #[test]
    fn secrets_in_the_words_of_a_server_are_masked_in_either_form() {
        let mut secrets = Secrets::default();
        secrets.keep("s3cret-token");
        let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
        let reason = Reason::Said("no s3cret-token here".into());
        let error = CallError::new(Kind::Interrupted, Delivery::Unknown, call, reason);

        for form in [DoubtForm::Error, DoubtForm::Result] {
            let told = masked(doubt(&error).unwrap().answer(form), &secrets);

            assert!(told.json().as_str().contains("no ... here"), "{told:?}");
            assert_eq!(told.error().is_some(), form == DoubtForm::Error);
        }
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
