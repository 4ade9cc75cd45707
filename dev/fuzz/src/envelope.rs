//! JSON-RPC messages, compared with simple rules on values that `serde_json` reads.

use bytes::Bytes;
use ridethrough_core::answer::words::names_a_lost_session;
use ridethrough_wire::message::{Answer, Id, Incoming, Json, Message};
use serde_json::{Map, Value};

/// Checks that a message is of the kind that its members say, that what it carries are bytes of the input,
/// and that what is made of those is JSON again.
pub fn envelope(input: &[u8]) {
    let text = Bytes::copy_from_slice(input);
    let read = Incoming::parse(&text);
    if let Ok(value) = serde_json::from_slice::<Value>(input) {
        assert_eq!(read.as_ref().ok().map(seen), expected(&value), "read otherwise");
    }
    for message in read.into_iter().flat_map(Incoming::into_messages) {
        check_message(&message, input);
    }
    if let Ok(json) = Json::new(text) {
        check_json(&json);
    }
}

/// A message in a form that can be compared: kind, id, method, and contents.
type Seen = (&'static str, Option<Value>, Option<String>, Option<Value>);

fn seen(incoming: &Incoming) -> Vec<Seen> {
    let value = |json: &Json| json.read::<Value>().expect("a part of what was read");
    let id = |id: &Id| value(id.json());
    let one = |message: &Message| match message {
        Message::Notification { method, params } => {
            ("notification", None, Some(method.to_string()), params.as_ref().map(value))
        }
        Message::Request { id: of, method, params } => {
            ("request", Some(id(of)), Some(method.to_string()), params.as_ref().map(value))
        }
        Message::Response { id: of, answer } => {
            let kind = match answer {
                Answer::Error(_) => "error",
                Answer::Result(_) => "result",
            };
            (kind, of.as_ref().map(id), None, Some(value(answer.json())))
        }
    };
    match incoming {
        Incoming::Batch(messages) => messages.iter().map(one).collect(),
        Incoming::One(message) => vec![one(message)],
    }
}

fn expected(value: &Value) -> Option<Vec<Seen>> {
    match value {
        Value::Array(parts) => parts.iter().map(|part| expected_one(part.as_object()?)).collect(),
        Value::Object(members) => Some(vec![expected_one(members)?]),
        _ => None,
    }
}

fn expected_one(members: &Map<String, Value>) -> Option<Seen> {
    let id = members.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let method = members.get("method").and_then(Value::as_str).map(str::to_owned);
    let params = members.get("params").filter(|params| !params.is_null()).cloned();
    let error = members.get("error").filter(|it| it.is_object() || (id.is_some() && !it.is_null()));
    match (method, &id, error, members.get("result")) {
        (Some(method), Some(_), ..) => Some(("request", id, Some(method), params)),
        (Some(method), None, ..) => Some(("notification", None, Some(method), params)),
        (None, _, Some(error), _) => Some(("error", id, None, Some(error.clone()))),
        (None, _, None, Some(result)) => Some(("result", id, None, Some(result.clone()))),
        (None, _, None, None) => None,
    }
}

fn check_message(message: &Message, input: &[u8]) {
    let (id, carried) = match message {
        Message::Notification { params, .. } => (None, params.as_ref()),
        Message::Request { id, params, .. } => (Some(id), params.as_ref()),
        Message::Response { id, answer } => {
            if let Some(error) = answer.error() {
                names_a_lost_session(&error.message);
            }
            (id.as_ref(), Some(answer.json()))
        }
    };
    for json in id.map(Id::json).into_iter().chain(carried) {
        let bytes = json.as_bytes();
        assert!(input.windows(bytes.len()).any(|part| part == bytes), "not as it was sent");
        assert!(Json::new(bytes.clone()).is_ok(), "what is carried is no JSON");
    }
    if let Some((id, number)) = id.and_then(|id| Some((id, id.number()?))) {
        check_number(id, number);
    }
}

/// Checks that an id matches one of our numbers only if it is that number, or a text that spells it.
fn check_number(id: &Id, number: u64) {
    // Not by `serde_json`'s number: beyond 2^53 that may be the next one.
    let says = |text: &str| text.parse::<f64>().ok() == Some(number as f64);
    let is_number = match id.json().read::<Value>() {
        Some(Value::String(text)) => says(&text),
        Some(value) => value.as_u64() == Some(number) || says(id.json().as_str()),
        None => false,
    };
    assert!(is_number, "{number} is not what the id says");
}

fn check_json(json: &Json) {
    let members = json.members();
    for (key, _) in &members {
        let last = members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
        assert!(json.member(key).as_ref() == last, "of equal keys the last counts");
    }
    for element in json.elements().into_iter().flatten() {
        assert!(Json::new(element.as_bytes().clone()).is_ok(), "an element is no JSON");
    }
    let more = json.with_members([("more".to_owned(), Json::empty_object())]);
    assert!(Json::new(more.as_bytes().clone()).is_ok(), "a member more, and it is no JSON");
    let is_object = json.as_str().starts_with('{');
    assert!(is_object || more == *json, "what is no object has no members");
}
