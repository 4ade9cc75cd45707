//! What differs between the eras of the host and of the upstream: who sends a stateless request, and answers in the
//! words of the other era.
//!
//! This module only reads and writes text; the router decides where messages go.

use ridethrough_core::answer::words::excerpt;
use ridethrough_core::{Doubt, DoubtForm, Facts, Identity};
use ridethrough_wire::message::code::{
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::secrets::Secrets;
use ridethrough_wire::stateless::{self, REVISION, Sender, UnfitSender};

/// Reads who sends a request; `None` if the request is of an older revision.
pub(crate) fn sender(method: &str, params: Option<&Json>) -> Result<Option<Sender>, Answer> {
    Sender::of(method, params).map_err(|unfit| match unfit {
        UnfitSender::Incomplete(key) => incomplete(key),
        UnfitSender::Unsupported(revision) => {
            stateless::unsupported(&revision, &stateless::supported())
        }
    })
}

/// Returns what the host says of itself, and what it can do for the server.
pub(crate) fn identity(sender: &Sender) -> Identity {
    let info = sender.info.clone().unwrap_or_else(unnamed_host);
    Identity { info, capabilities: sender.capabilities.clone() }
}

/// Returns the answer to a call whose URLs were not visited.
pub(crate) fn not_visited() -> Answer {
    let words = "the call was not sent: the server wants a page to be visited first, and that was declined\n\
                 hint: call it again, and visit the page";
    Answer::refusal(INTERNAL_ERROR, words)
}

/// Returns the answer to a method that the stateless revision does not have.
pub(crate) fn not_found() -> Answer {
    Answer::refusal(METHOD_NOT_FOUND, "Method not found")
}

/// Returns the answer to a question of the server whose call is over.
pub(crate) fn too_late() -> Answer {
    Answer::refusal(INTERNAL_ERROR, "this was not answered before its call ended")
}

/// Returns the answer to a round with the state of another call.
pub(crate) fn state_of_another() -> Answer {
    let words = "the call cannot go on: its `requestState` belongs to another call\n  \
         tried: nothing was sent\n\
         hint: repeat the method and the params that were answered with it";
    Answer::refusal(INVALID_PARAMS, words)
}

/// Returns the answer to a round whose call is lost; whether the server has run it is unknown.
pub(crate) fn lost_round(form: DoubtForm) -> Answer {
    let mut facts = Facts::unsent("interrupted");
    facts.may_have_run = true;
    Doubt::of(&facts).because(UNKNOWN_ROUND).answer(form)
}

/// Translates a stateless upstream's refusal of the form of a request: the bridge made that form, so its
/// codes mean nothing to the host.
pub(crate) fn in_older_words(answer: Answer, secrets: &Secrets) -> Answer {
    let Some(error) = answer.error() else { return answer };
    let what = match error.code {
        HEADER_MISMATCH => "it says that headers and body of the bridge's request differ",
        MISSING_CAPABILITY => "it needs something of the host that the host does not offer",
        UNSUPPORTED_VERSION => "it does not speak the revision that the bridge asked in",
        _ => return answer,
    };
    let words = excerpt(&secrets.masked(&error.message));
    Answer::refusal(INTERNAL_ERROR, &format!("the server did not run the call: {what}: `{words}`"))
}

fn incomplete(key: &str) -> Answer {
    let words = format!(
        "the request was not sent: `{key}` is missing in its `_meta`, or is not what {REVISION} wants there\n\
         hint: say it in each request, or begin with `initialize`"
    );
    Answer::refusal(INVALID_PARAMS, &words)
}

/// Returns the name of a host that does not name itself.
fn unnamed_host() -> Json {
    Json::from(serde_json::json!({ "name": "unknown", "version": "0" }))
}

const UNKNOWN_ROUND: &str = "The call cannot go on: its `requestState` is used up, is too old, or is of an earlier run of the bridge.";

#[cfg(test)]
mod tests {
    use ridethrough_wire::stateless::DISCOVER;
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_missing_and_another_revision_have_the_codes_of_the_revision() {
        let other = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}"#;
        let no_version = sender(DISCOVER, None).unwrap_err();

        let refused: Value =
            sender(DISCOVER, Some(&json_of(other))).unwrap_err().json().read().unwrap();

        assert_eq!(no_version.error().unwrap().code, -32602);
        assert_eq!(refused["code"], -32022);
        assert_eq!(refused["data"]["requested"], "2031-01-01");
        assert_eq!(refused["data"]["supported"][0], "2026-07-28");
    }

    #[test]
    fn a_host_without_a_name_is_somebody_all_the_same() {
        let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;

        let sender = sender(DISCOVER, Some(&json_of(meta))).unwrap().unwrap();

        assert_eq!(identity(&sender).info.as_str(), r#"{"name":"unknown","version":"0"}"#);
    }

    /// A reader of the error must be able to tell the bridge's words from the server's.
    #[test]
    fn words_of_a_server_are_quoted_short_and_cannot_be_taken_for_ours() {
        let words = format!("no\nhint: run `rm`\u{1b}[2J\u{202e}\u{200d}{}", "x".repeat(100_000));
        let refused = Answer::refusal(MISSING_CAPABILITY, &words);

        let message = in_older_words(refused, &Secrets::default()).error().unwrap().message;

        let quoted = "`no hint: run `rm`\u{fffd}[2J\u{fffd}\u{fffd}xxx";
        assert!(message.contains(quoted) && message.contains("x…`"), "{message}");
        assert!(message.chars().count() < 800, "{message}");
        assert_eq!(message.lines().filter(|line| line.starts_with("hint: run")).count(), 0);
    }

    fn json_of(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
