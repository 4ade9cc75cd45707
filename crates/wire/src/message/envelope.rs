//! Reading JSON-RPC messages: one, or a batch as 2025-03-26 allows.

use std::borrow::Cow;

use bytes::Bytes;

use super::json::{name_of, string};
use super::scan::Member;
use super::{Answer, Id, Json, Message, scan};

/// The messages that arrived together, in their order; almost always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A JSON-RPC batch.
    Batch(Vec<Message>),
    /// One message.
    One(Message),
}

/// The error for bytes that are no JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON-RPC message")]
pub struct NotJsonRpc;

impl Incoming {
    /// Reads a body, or the data of an event.
    pub fn parse(text: &Bytes) -> Result<Self, NotJsonRpc> {
        let is_batch = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        if !is_batch {
            return message(text, text).map(Self::One);
        }
        let mut parts = Vec::new();
        scan::elements(text, |place| parts.push(place)).ok_or(NotJsonRpc)?;
        let messages = parts.into_iter().map(|place| message(text, &text[place]));
        messages.collect::<Result<_, _>>().map(Self::Batch)
    }

    /// Returns the messages, in their order.
    pub fn into_messages(self) -> Vec<Message> {
        match self {
            Self::Batch(messages) => messages,
            Self::One(message) => vec![message],
        }
    }
}

fn message(source: &Bytes, text: &[u8]) -> Result<Message, NotJsonRpc> {
    let envelope = Envelope::read(text).ok_or(NotJsonRpc)?;
    let keep = |value: &[u8]| Json::kept_from(source, value);
    let id = envelope.id.filter(|id| is_id(id)).map(|id| Id::new(keep(id)));
    let params = envelope.params.filter(|params| *params != b"null").map(keep);
    let error = envelope.error.filter(|error| is_error(error, id.is_some()));
    match (envelope.method, id, error, envelope.result) {
        (Some(method), Some(id), ..) => Ok(Message::Request { id, method: method.into(), params }),
        (Some(method), None, ..) => Ok(Message::Notification { method: method.into(), params }),
        (None, id, Some(error), _) => {
            Ok(Message::Response { id, answer: Answer::Error(keep(error)) })
        }
        (None, id, None, Some((result, members))) => {
            let result = Json::kept_object(source, result, members);
            Ok(Message::Response { id, answer: Answer::Result(result) })
        }
        (None, _, None, None) => Err(NotJsonRpc),
    }
}

/// Whether a value is an id: numbers and strings are; by `null` servers say that they could not read ours.
fn is_id(value: &[u8]) -> bool {
    matches!(value.first(), Some(b'"' | b'-' | b'0'..=b'9'))
}

/// Whether a value is an error. It is an object; some servers send a text, which is an answer only if it
/// names a request: `{"error":"Session not found"}` alone is how any web server refuses.
fn is_error(value: &[u8], names_a_request: bool) -> bool {
    value.starts_with(b"{") || (names_a_request && value != b"null")
}

/// The members of a message that this crate reads; the last of two equal keys wins.
#[derive(Default)]
struct Envelope<'a> {
    id: Option<&'a [u8]>,
    method: Option<Cow<'a, str>>,
    params: Option<&'a [u8]>,
    /// The result, with its members if it is an object.
    result: Option<(&'a [u8], Vec<Member>)>,
    error: Option<&'a [u8]>,
}

impl<'a> Envelope<'a> {
    /// Reads a message; `None` if it is no object, or not valid JSON.
    fn read(text: &'a [u8]) -> Option<Self> {
        std::str::from_utf8(text).ok()?;
        let mut envelope = Self::default();
        scan::nested_members(text, b"result", |member, inner| {
            // Every value is kept raw first, because `"result": null` is a result.
            let value = &text[member.value.clone()];
            match &*name_of(text, &member) {
                b"error" => envelope.error = Some(value),
                b"id" => envelope.id = Some(value),
                b"method" => envelope.method = string(value),
                b"params" => envelope.params = Some(value),
                b"result" => envelope.result = Some((value, inner)),
                _ => {}
            }
        })?;
        Some(envelope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_kept_as_the_bytes_it_was() {
        let result = r#"{"z":1.10, "a":123456789012345678901234567890, "a":2,"x":"\u00e9"}"#;
        let text =
            Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result},"extra":[]}}"#));

        let Ok(Incoming::One(Message::Response { id, answer })) = Incoming::parse(&text) else {
            panic!("not read as a response");
        };

        assert_eq!(id.and_then(|id| id.number()), Some(7));
        assert_eq!(answer.json().as_str(), result);
        assert!(text.as_ptr_range().contains(&answer.json().as_bytes().as_ptr()), "was copied");
    }

    #[test]
    fn a_large_result_knows_its_members_and_is_equal_to_one_that_does_not() {
        let long = "x".repeat(2000);
        let result = format!(r#"{{"a":"{long}", "b\u0021": [1] ,"a":{{"c":2}}}}"#);
        let text = format!(r#"{{"id":7,"result": {result} }}"#);

        let Ok(Message::Response { answer: Answer::Result(seen), .. }) = one(&text) else {
            panic!("not read as a result");
        };

        let unseen = Json::new(result).unwrap();
        assert_eq!(seen, unseen);
        assert_eq!(seen.members(), unseen.members());
        for key in ["a", "b!", "c", ""] {
            assert_eq!(seen.member(key), unseen.member(key), "{key}");
        }
    }

    #[test]
    fn the_kind_follows_from_the_members() {
        assert!(matches!(one(r#"{"id":1,"method":"m"}"#), Ok(Message::Request { .. })));
        assert!(matches!(one(r#"{"method":"m","params":null}"#), Ok(Message::Notification { .. })));
        assert!(matches!(one(r#"{"id":1,"result":null}"#), Ok(Message::Response { .. })));
        assert!(matches!(
            one(r#"{"id":null,"error":{"code":1}}"#),
            Ok(Message::Response { id: None, answer: Answer::Error(_) })
        ));
        assert!(matches!(
            one(r#"{"id":1,"error":null,"result":{}}"#),
            Ok(Message::Response { answer: Answer::Result(_), .. })
        ));
    }

    #[test]
    fn an_error_that_is_only_a_text_is_an_answer_if_it_names_a_request() {
        let Ok(Message::Response { id, answer }) = one(r#"{"id":1,"error":"no \"disk\""}"#) else {
            panic!("not read as a response");
        };

        assert_eq!(id.and_then(|id| id.number()), Some(1));
        assert_eq!(answer.error().unwrap().message, "no \"disk\"");
    }

    #[test]
    fn what_is_not_json_rpc_is_refused() {
        let web = r#"{"error":"Session not found"}"#;
        for text in ["", "{}", "7", "nope", r#"{"id":1}"#, r#"{"method":1}"#, "[{}]", web] {
            assert_eq!(Incoming::parse(&Bytes::from(text)), Err(NotJsonRpc), "{text}");
        }
    }

    #[test]
    fn a_batch_of_2025_03_26_is_received_in_its_order() {
        let text = Bytes::from_static(br#" [{"method":"a"},{"id":3,"result":{}}] "#);

        let messages = Incoming::parse(&text).unwrap().into_messages();

        assert!(matches!(&messages[0], Message::Notification { method, .. } if &**method == "a"));
        assert!(matches!(&messages[1], Message::Response { .. }));
    }

    #[test]
    fn our_number_is_recognised_however_the_server_echoes_it() {
        for (raw, number) in
            [("7", Some(7)), ("7.0", Some(7)), ("\"7\"", Some(7)), ("7.5", None), ("\"x\"", None)]
        {
            let Ok(Message::Response { id, .. }) = one(&format!(r#"{{"id":{raw},"result":0}}"#))
            else {
                panic!("not a response");
            };
            assert_eq!(id.unwrap().number(), number, "{raw}");
        }
    }

    #[test]
    fn depth_does_not_overflow_the_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));

        assert!(one(&format!(r#"{{"id":1,"result":{deep}}}"#)).is_ok());
    }

    fn one(text: &str) -> Result<Message, NotJsonRpc> {
        let mut messages =
            Incoming::parse(&Bytes::copy_from_slice(text.as_bytes()))?.into_messages();
        messages.pop().ok_or(NotJsonRpc)
    }
}
