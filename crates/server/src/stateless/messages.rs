//! Messages that the server itself sends to a backend, in which it plays the client.

use ridethrough_core::message::{Answer, Id, Json, Message};

use super::splice::text;
use crate::parts::ParsedMessage;

/// A request under an id of our own.
pub(crate) fn request(number: u64, method: &str, params: Option<&Json>) -> ParsedMessage {
    let params = params.cloned();
    let said = params.as_ref().map(|it| format!(r#","params":{}"#, it.as_str()));
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":{}{}}}"#,
        text(method).as_str(),
        said.unwrap_or_default()
    );
    let message = Message::Request { id: Id::of_number(number), method: method.into(), params };
    ParsedMessage::made(message, text)
}

/// A notification of our own.
pub(crate) fn notification(method: &str, params: &Json) -> ParsedMessage {
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":{},"params":{}}}"#,
        text(method).as_str(),
        params.as_str()
    );
    let message = Message::Notification { method: method.into(), params: Some(params.clone()) };
    ParsedMessage::made(message, text)
}

/// The answer to a question of the backend.
pub(crate) fn response(id: &Id, answer: &Answer) -> ParsedMessage {
    let key = match answer {
        Answer::Error(_) => "error",
        Answer::Result(_) => "result",
    };
    let (id_text, json) = (id.json().as_str(), answer.json().as_str());
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id_text},"{key}":{json}}}"#);
    let message = Message::Response { id: Some(id.clone()), answer: answer.clone() };
    ParsedMessage::made(message, text)
}
