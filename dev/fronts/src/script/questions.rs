//! Questions of the server in the middle of a call: as requests in a session, as rounds without one.

use serde_json::json;

use super::{Sequence, Step, call, stateless_with};

pub(super) fn all() -> Vec<Sequence> {
    let mut all = sessions();
    all.extend(rounds());
    // A call that waits for its next round is there for ten minutes, and may be asked what another should be.
    all.into_iter().map(Sequence::alone).collect()
}

fn sessions() -> Vec<Sequence> {
    let able = |name, capabilities| Sequence::session_of(name, "2025-11-25", capabilities);
    vec![
        able("a question for a form", r#"{"elicitation":{}}"#)
            .writes(call("2", "asks-form", "{}"))
            .then(Step::Until("elicitation/create"))
            .then(Step::Answer(FORM))
            .then(Step::UntilAnswered(1)),
        able("a question for roots", r#"{"roots":{}}"#)
            .writes(call("2", "asks-roots", "{}"))
            .then(Step::Until("roots/list"))
            .then(Step::Answer(r#"{"roots":[]}"#))
            .then(Step::UntilAnswered(1)),
        able("a question for a sample", r#"{"sampling":{}}"#)
            .writes(call("2", "asks-sampling", "{}"))
            .then(Step::Until("sampling/createMessage"))
            .then(Step::Answer(SAMPLE))
            .then(Step::UntilAnswered(1)),
    ]
}

fn rounds() -> Vec<Sequence> {
    let again = |id: &str, tool: &str, answer: &str, can: &str| {
        let params = format!(
            r#"{{"name":"{tool}","arguments":{{}},"requestState":${{state}},"inputResponses":{{"${{key}}":{answer}}}}}"#
        );
        stateless_with(id, "tools/call", &params, can, &json!({}))
    };
    let first = |id: &str, tool: &str, can: &str| {
        let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
        stateless_with(id, "tools/call", &params, can, &json!({}))
    };
    let (forms, samples) = (r#"{"elicitation":{"form":{}}}"#, r#"{"sampling":{}}"#);
    vec![
        Sequence::stateless("a round for a form").asks(first("1", "asks-form", forms)).asks(again(
            "2",
            "asks-form",
            FORM,
            forms,
        )),
        Sequence::stateless("a round for a sample")
            .asks(first("1", "asks-sampling", samples))
            .asks(again("2", "asks-sampling", SAMPLE, samples)),
        Sequence::stateless("a round for roots")
            .asks(first("1", "asks-roots", r#"{"roots":{}}"#))
            .asks(again("2", "asks-roots", r#"{"roots":[]}"#, r#"{"roots":{}}"#)),
        Sequence::stateless("a round twice")
            .asks(first("1", "asks-form", forms))
            .asks(again("2", "asks-form", FORM, forms))
            .asks(again("3", "asks-form", FORM, forms)),
        Sequence::stateless("a round of another call")
            .asks(first("1", "asks-form", forms))
            .asks(again("2", "echo", FORM, forms)),
        Sequence::stateless("a state that is invented").asks(
            again("1", "asks-form", FORM, forms)
                .replace("${state}", r#""invented""#)
                .replace("${key}", "why"),
        ),
        Sequence::stateless("a question that the host cannot answer").asks(first(
            "1",
            "asks-form",
            "{}",
        )),
    ]
}

const FORM: &str = r#"{"action":"accept","content":{"why":"because"}}"#;
const SAMPLE: &str =
    r#"{"role":"assistant","content":{"type":"text","text":"because"},"model":"m"}"#;
