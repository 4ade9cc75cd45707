//! The messages in one line of the host, and the answers to what is not a message.
//!
//! A message is a notification only if it has no `id` at all. A host that wrote an id waits for an answer,
//! also if the id is one that no request may have: MCP wants a string or a number there.

use bytes::Bytes;
use ridethrough_core::message::code;
use ridethrough_core::message::{Answer, Incoming, Json, Message};

/// One message of a line, or one member of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HostMessage {
    /// A valid message.
    Fit(Message),
    /// Something else, and the error to answer it with.
    Unfit {
        /// The id to answer under, if it can be read.
        id: Option<Json>,
        /// The error.
        answer: Answer,
    },
}

/// Reads a line. Each member of a batch is read by itself, so that an invalid one does not cost the others
/// their answers.
pub(crate) fn read(line: &Bytes) -> Vec<HostMessage> {
    let is_batch = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    if !is_batch {
        return vec![one(line)];
    }
    match Json::new(line.clone()).ok().and_then(|batch| batch.elements()) {
        None => vec![not_json()],
        Some(members) if members.is_empty() => vec![not_rpc(None, "the batch is empty")],
        Some(members) => members.iter().map(|member| one(member.as_bytes())).collect(),
    }
}

fn one(text: &Bytes) -> HostMessage {
    match Incoming::parse(text) {
        Ok(Incoming::One(Message::Notification { .. })) if has_id(text) => {
            not_rpc(None, "the id of a request must be a text or a number")
        }
        Ok(Incoming::One(message)) => HostMessage::Fit(message),
        Ok(Incoming::Batch(_)) => not_rpc(None, "a batch cannot stand in a batch"),
        Err(_) => match Json::new(text.clone()) {
            Ok(json) => not_rpc(json.member("id").filter(is_fit), "this is no JSON-RPC message"),
            Err(_) => not_json(),
        },
    }
}

/// Whether there is an `id` of any type; the reader of messages treats an invalid id as none.
fn has_id(text: &Bytes) -> bool {
    Json::new(text.clone()).is_ok_and(|json| json.member("id").is_some())
}

fn is_fit(id: &Json) -> bool {
    matches!(id.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9'))
}

fn not_rpc(id: Option<Json>, words: &str) -> HostMessage {
    HostMessage::Unfit { id, answer: Answer::refusal(INVALID_REQUEST, words) }
}

fn not_json() -> HostMessage {
    HostMessage::Unfit {
        id: None,
        answer: Answer::refusal(code::PARSE_ERROR, "the line is no JSON"),
    }
}

pub(crate) const INVALID_REQUEST: i64 = -32600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_wrote_an_id_is_answered_and_only_who_wrote_none_is_not() {
        for (line, expected) in [
            (r#"{"method":"m"}"#, "notification m"),
            (r#"{"method":"m","params":{"id":null}}"#, "notification m"),
            (r#"{"id":7,"method":"m"}"#, "request 7"),
            (r#"{"id":"","method":"m"}"#, r#"request """#),
            (r#"{"id":null,"method":"m"}"#, "refused null -32600"),
            (r#"{"id":7,"id":null,"method":"m"}"#, "refused null -32600"),
            (r#"{"\u0069d":true,"method":"m"}"#, "refused null -32600"),
            (r#"{"id":[7],"method":"m"}"#, "refused null -32600"),
            (r#"{"id":{},"method":"m"}"#, "refused null -32600"),
            (r#"{"id":{},"method":7}"#, "refused null -32600"),
            (r#"{"id":7,"method":7}"#, "refused 7 -32600"),
            (r#"{"id":7}"#, "refused 7 -32600"),
            (r#"{"id":null,"error":{"code":1}}"#, "response"),
            ("7", "refused null -32600"),
            ("[]", "refused null -32600"),
            ("nonsense", "refused null -32700"),
            ("[nonsense", "refused null -32700"),
        ] {
            let read: Vec<_> = read(&Bytes::from(line)).iter().map(shown).collect();

            assert_eq!(read, [expected], "{line}");
        }
    }

    #[test]
    fn a_member_of_a_batch_that_is_none_costs_no_other_its_place() {
        let line =
            r#" [{"id":1,"method":"a"},{"id":2},[{"id":3,"method":"c"}],null,{"method":"d"}]"#;

        let read: Vec<_> = read(&Bytes::from(line)).iter().map(shown).collect();

        let refused = "refused null -32600";
        assert_eq!(read, ["request 1", "refused 2 -32600", refused, refused, "notification d"]);
    }

    fn shown(message: &HostMessage) -> String {
        match message {
            HostMessage::Fit(Message::Notification { method, .. }) => {
                format!("notification {method}")
            }
            HostMessage::Fit(Message::Request { id, .. }) => {
                format!("request {}", id.json().as_str())
            }
            HostMessage::Fit(Message::Response { .. }) => "response".to_owned(),
            HostMessage::Unfit { id, answer } => {
                let id = id.as_ref().map_or("null", Json::as_str);
                format!("refused {id} {}", answer.error().unwrap().code)
            }
        }
    }
}
