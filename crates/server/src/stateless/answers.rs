//! Answers of a session-based backend in the form of the stateless revision.
//!
//! A result passes byte for byte; the members that the revision demands in addition are written after its
//! own.

use bytes::Bytes;
use ridethrough_wire::message::splice::is_object;
use ridethrough_wire::message::{Answer, Id, Json, code};
use ridethrough_wire::stateless::{self, Offers, additions, with_code, with_server};

/// Returns the text of an answer, in pieces: a large result is not copied.
pub(crate) fn written(id: &Id, answer: &Answer, method: &str, server: Option<&Json>) -> Vec<Bytes> {
    let (key, json) = match answer {
        Answer::Error(error) => ("error", error.clone()),
        Answer::Result(result) => ("result", with_server(result, server)),
    };
    let head = format!(r#"{{"jsonrpc":"2.0","id":{},"{key}":"#, id.json().as_str());
    let more = match answer {
        Answer::Result(_) => additions(&json, method, server),
        Answer::Error(_) => Vec::new(),
    };
    let whole = json.as_bytes();
    if more.is_empty() {
        return vec![head.into(), whole.clone(), Bytes::from_static(b"}")];
    }
    let open = whole.slice(..whole.len() - 1);
    let added = Json::empty_object().with_members(more);
    // The new members, without their opening brace, follow the existing ones.
    let added = &added.as_str()[1..];
    let is_empty = open[1..].iter().all(u8::is_ascii_whitespace);
    let tail = if is_empty { format!("{added}}}") } else { format!(",{added}}}") };
    vec![head.into(), open, tail.into()]
}

/// Returns an answer of the backend in terms of the stateless revision. `understands` says whether the backend
/// speaks it and was told what the client can do.
pub(crate) fn translated(
    answer: Answer,
    method: &str,
    offers: Offers,
    understands: bool,
) -> Answer {
    match (&answer, answer.error().map(|error| error.code)) {
        (Answer::Error(error), Some(code::MISSING_CAPABILITY))
            if understands && names_capabilities(error) =>
        {
            answer
        }
        // These codes are about the way between a client and its server, and the client's server is this one.
        (Answer::Error(error), Some(code)) if code::is_modern(code) => {
            with_code(error, code::INTERNAL_ERROR)
        }
        _ => stateless::translated(answer, method, offers),
    }
}

/// Whether an error says what its client lacks. The code alone does not: in older revisions it is free for any use.
fn names_capabilities(error: &Json) -> bool {
    let data = error.member("data");
    data.and_then(|data| data.member("requiredCapabilities")).is_some_and(|it| is_object(&it))
}

/// Whether this method is not passed on: it exists in the older revisions only, or differs there and the
/// backend does not understand this one.
pub(crate) fn is_gone(method: &str, understands: bool) -> bool {
    let is_of_tasks = matches!(method, "tasks/cancel" | "tasks/get" | "tasks/update");
    stateless::is_gone(method) || method.starts_with("tasks/") && !(is_of_tasks && understands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_passes_byte_for_byte_and_has_what_the_revision_demands_behind_it() {
        let server = Json::new(r#"{"name":"s"}"#).unwrap();
        let meta = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}"#;
        for (method, result, expected) in [
            ("tools/call", "{ }", format!(r#"{{ "resultType":"complete",{meta}}}"#)),
            (
                "tools/call",
                r#"{"n":1.10, "n":2}"#,
                format!(r#"{{"n":1.10, "n":2,"resultType":"complete",{meta}}}"#),
            ),
            (
                "tools/list",
                r#"{"tools":[]}"#,
                format!(
                    r#"{{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private",{meta}}}"#
                ),
            ),
            (
                "tools/call",
                r#"{"resultType":"complete","_meta":{"a":1}}"#,
                r#"{"resultType":"complete","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#.to_owned(),
            ),
            ("tools/call", "7", "7".to_owned()),
        ] {
            let answer = Answer::Result(Json::new(result).unwrap());

            let text = written(&Id::of_number(3), &answer, method, Some(&server)).concat();

            let whole = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{expected}}}"#);
            assert_eq!(String::from_utf8(text).unwrap(), whole);
        }
    }

    #[test]
    fn codes_of_the_other_era_are_translated() {
        let urls = Offers::of(&Json::new(r#"{"elicitation":{"url":{}}}"#).unwrap());
        for (code, expected) in [
            (-32002, -32602),
            (-32042, -32603),
            (-32020, -32603),
            (-32021, -32603),
            (-32602, -32602),
            (-32000, -32000),
        ] {
            let error = Json::new(format!(r#"{{"code":{code},"message":"m","data":[1.0]}}"#));

            let answer = translated(Answer::Error(error.unwrap()), "tools/call", urls, true);

            assert_eq!(answer.error().unwrap().code, expected);
            assert!(answer.json().as_str().contains(r#""data":[1.0]"#));
        }
    }

    #[test]
    fn what_a_client_lacks_is_told_by_a_backend_that_knows_what_it_can_do_and_by_no_other() {
        let error = r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}"#;
        for (understands, expected) in [(true, -32021), (false, -32603)] {
            let error = Answer::Error(Json::new(error).unwrap());

            let answer = translated(error, "tools/call", Offers::default(), understands);

            assert_eq!(answer.error().unwrap().code, expected);
        }
    }
}
