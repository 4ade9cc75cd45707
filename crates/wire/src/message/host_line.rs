//! The messages in one line of a host, and the answers to what is not a message: for every door that speaks lines.
//!
//! A message is a notification only if it has no `id` at all. A host that wrote an id waits for an answer,
//! also if the id is one that no request may have: MCP wants a string or a number there.

use bytes::Bytes;

use super::{Answer, Id, Incoming, Json, Message, Unclear, code};
use crate::line_buffer::Line;

/// One message of a line, or one member of a batch.
#[derive(Debug, PartialEq, Eq)]
pub enum HostMessage {
    /// A valid message.
    Fit {
        /// The message.
        message: Message,
        /// The bytes that it was read from.
        text: Bytes,
    },
    /// Something else, and the error to answer it with.
    Unfit {
        /// The id to answer under, if it can be read.
        id: Option<Json>,
        /// The error.
        answer: Answer,
    },
}

impl HostMessage {
    /// Reads a line, as far as it is within the limits. Of one that is too long for a message, and not for being
    /// held, requests are answered under their own ids, and what has no answer is dropped.
    pub fn of_line(line: &Line) -> Vec<Self> {
        let Line::Whole(text) = line else { return vec![Self::too_large(None)] };
        let mut messages = Self::read(text);
        if text.len() > MOST_MESSAGE {
            messages.retain_mut(|it| match it {
                Self::Unfit { .. } => true,
                Self::Fit { message: Message::Request { id, .. }, .. } => {
                    *it = Self::too_large(Some(id.json().clone()));
                    true
                }
                Self::Fit { .. } => false,
            });
        }
        messages
    }

    /// Reads a line. Each member of a batch is read by itself, so that an invalid one does not cost the others
    /// their answers.
    fn read(line: &Bytes) -> Vec<Self> {
        let is_batch = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        if !is_batch {
            return vec![Self::one(line)];
        }
        match Json::new(line.clone()).ok().and_then(|batch| batch.elements()) {
            None => vec![Self::not_json()],
            Some(members) if members.is_empty() => {
                vec![Self::not_rpc(None, "the batch is empty")]
            }
            Some(members) => members.iter().map(|member| Self::one(member.as_bytes())).collect(),
        }
    }

    fn one(text: &Bytes) -> Self {
        match Incoming::parse(text) {
            Ok(Incoming::One(message)) => match message.check_clear(&Json::trusted(text.clone())) {
                Ok(()) => Self::Fit { message, text: text.clone() },
                Err(Unclear::Doubled) => {
                    let why =
                        "a member by which requests are told apart is there twice; nothing was run";
                    Self::not_rpc(None, why)
                }
                Err(Unclear::WrongId) => {
                    Self::not_rpc(None, "the id of a request must be a text or a number")
                }
            },
            Ok(Incoming::Batch(_)) => Self::not_rpc(None, "a batch cannot stand in a batch"),
            Err(_) => match Json::new(text.clone()) {
                Ok(json) => {
                    let id = Id::named_by(&json).map(|id| id.json().clone());
                    Self::not_rpc(id, "this is no JSON-RPC message")
                }
                Err(_) => Self::not_json(),
            },
        }
    }

    fn not_rpc(id: Option<Json>, words: &str) -> Self {
        Self::Unfit { id, answer: Answer::refusal(code::INVALID_REQUEST, words) }
    }

    fn too_large(id: Option<Json>) -> Self {
        let words = "the message was not sent: it is larger than 16 MiB";
        Self::Unfit { id, answer: Answer::refusal(code::INVALID_REQUEST, words) }
    }

    fn not_json() -> Self {
        let answer = Answer::refusal(code::PARSE_ERROR, "the line is no JSON");
        Self::Unfit { id: None, answer }
    }
}

/// The most bytes of a message of a host.
const MOST_MESSAGE: usize = 16 << 20;
/// The most bytes of a line of a host that are held, so that a message that is too large is answered under its own
/// id.
pub const MOST_LINE: usize = 4 * MOST_MESSAGE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_wrote_an_id_is_answered_and_one_that_wrote_none_is_not() {
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
            (r#"{"id":null,"method":"notifications/m"}"#, "notification notifications/m"),
            (r#"{"id":7,"id":8,"method":"m"}"#, "refused null -32600"),
            (r#"{"id":7,"method":"m","params":{"name":"a","name":"b"}}"#, "refused null -32600"),
            (r#"{"id":null,"error":{"code":1}}"#, "response"),
            ("7", "refused null -32600"),
            ("[]", "refused null -32600"),
            ("nonsense", "refused null -32700"),
            ("[nonsense", "refused null -32700"),
        ] {
            let read: Vec<_> = HostMessage::read(&Bytes::from(line)).iter().map(shown).collect();

            assert_eq!(read, [expected], "{line}");
        }
    }

    #[test]
    fn a_member_of_a_batch_that_is_none_costs_no_other_its_place() {
        let line =
            r#" [{"id":1,"method":"a"},{"id":2},[{"id":3,"method":"c"}],null,{"method":"d"}]"#;

        let read: Vec<_> = HostMessage::read(&Bytes::from(line)).iter().map(shown).collect();

        let refused = "refused null -32600";
        assert_eq!(read, ["request 1", "refused 2 -32600", refused, refused, "notification d"]);
    }

    fn shown(message: &HostMessage) -> String {
        match message {
            HostMessage::Fit { message: Message::Notification { method, .. }, .. } => {
                format!("notification {method}")
            }
            HostMessage::Fit { message: Message::Request { id, .. }, .. } => {
                format!("request {}", id.json().as_str())
            }
            HostMessage::Fit { message: Message::Response { .. }, .. } => "response".to_owned(),
            HostMessage::Unfit { id, answer } => {
                let id = id.as_ref().map_or("null", Json::as_str);
                format!("refused {id} {}", answer.error().unwrap().code)
            }
        }
    }
}
