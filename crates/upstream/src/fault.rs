//! What a caller and people are told of a call that got no answer: the whole story and the facts, or, of a call
//! that may have run, what the core says of a doubt.
//!
//! The error knows the call. Only the program knows the server's address and which of its own commands look closer,
//! so it supplies [`Advice`].

use ridethrough::Error;
use ridethrough_core::answer::words::{excerpt, harmless};
use ridethrough_core::{CallError, CallName, Delivery, Doubt, Facts, Kind, Reason, Rule};
use ridethrough_wire::message::code;
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::secrets::Secrets;

/// The program's function that names the next step for a person, if it set one.
#[derive(Default)]
pub struct Advice(Option<Box<NextStep>>);

type NextStep = dyn Fn(&CallError) -> Option<String> + Send;

impl Advice {
    /// Creates advice by this function.
    pub fn new(next_step: impl Fn(&CallError) -> Option<String> + Send + 'static) -> Self {
        Self(Some(Box::new(next_step)))
    }

    /// Returns the story of a call with the next step behind the hint that ends the story.
    fn added_to(&self, story: String, error: &CallError) -> String {
        match self.0.as_ref().and_then(|next_step| next_step(error)) {
            Some(step) => format!("{story}; {step}"),
            None => story,
        }
    }
}

/// Returns the answer to a handshake or a call that surely did not run.
pub fn answer(error: &CallError, advice: &Advice) -> Answer {
    Facts::of(error).answer(code::SERVER_ERROR, &advice.added_to(error.story(), error))
}

/// Returns what the caller is told of a call that may have run; `None` if it surely did not.
pub(crate) fn doubt(error: &CallError) -> Option<Doubt> {
    error.may_have_run().then(|| Doubt::of(&Facts::of(error)))
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

/// Changes the error of a call that was cancelled because the program ends: to the caller, the link was closed.
pub(crate) fn cut_short(mut error: CallError) -> CallError {
    if error.kind == Kind::Cancelled {
        (error.kind, error.reason) = (Kind::Closed, Reason::Rule(Rule::BridgeEnded));
    }
    error
}

/// Returns the error of a request that was not sent before the program ended.
pub fn unsent(method: &str) -> CallError {
    let call = CallName { method: method.into(), tool: None };
    CallError::new(Kind::Closed, Delivery::NotSent, call, Reason::Rule(Rule::BridgeEnded))
}

/// Returns the error of a request for which there is no room among the caller's open requests.
pub fn crowded(method: &str) -> CallError {
    let call = CallName { method: method.into(), tool: None };
    CallError::new(Kind::Exhausted, Delivery::NotSent, call, Reason::Rule(Rule::HostCrowds))
}

/// Whether an upstream that cannot be connected to may be reached later without any change. A wrong path, a
/// certificate that is not trusted or a web page would still be there.
pub(crate) fn may_pass(error: &CallError) -> bool {
    match (error.kind, &error.reason) {
        (Kind::Config | Kind::Incompatible | Kind::PeerMisbehaved | Kind::Unauthorized, _) => false,
        (Kind::Rejected { status }, _) => match status {
            300..=499 => PASSING.contains(&status),
            status => status != NOT_IMPLEMENTED,
        },
        // A name may resolve on another network.
        (Kind::Unreachable, Reason::Transport(failure)) => !failure.cause.is_lasting(true),
        _ => true,
    }
}

/// Returns the answer to a caller who asks what an upstream is that refuses us.
pub(crate) fn refusal(error: &Error, advice: &Advice, secrets: &Secrets) -> Answer {
    match error {
        Error::Call(error) => answer(error, advice),
        Error::Server(error) => Answer::Error(error.json.clone()),
        error => Answer::refusal(code::INTERNAL_ERROR, &report(error, advice, secrets)),
    }
}

/// 4xx statuses that may pass: too slow, too early, too many requests.
const PASSING: [u16; 3] = [408, 425, 429];
/// The status of an address at which no server takes a POST.
const NOT_IMPLEMENTED: u16 = 501;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ridethrough_core::DoubtForm;
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

        let message = answer(&error, &Advice::default()).error().unwrap().message;

        let quoted = "`no hint: run `rm`\u{fffd}[2J\u{fffd}\u{fffd}xxx";
        assert!(message.contains(quoted) && message.contains("x…`"), "{message}");
        assert!(message.chars().count() < 800, "{message}");
        assert_eq!(message.lines().filter(|line| line.starts_with("hint: run")).count(), 0);
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
