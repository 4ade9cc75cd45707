//! Answers of a session-based backend in the form of the stateless revision.
//!
//! A result passes byte for byte; the members that the revision demands in addition are written after its
//! own.

use bytes::Bytes;
use ridethrough_wire::message::{Answer, Id, Json};
use ridethrough_wire::stateless::{self, additions, with_server};

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
}
