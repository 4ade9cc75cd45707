//! Messages that are made here, of JSON that is passed on as it is.

use ridethrough_wire::message::splice::text;
use ridethrough_wire::message::{Answer, Id, Json, Message};

use crate::parts::ParsedMessage;

impl ParsedMessage {
    /// Makes a request.
    pub fn request(id: Id, method: &str, params: Option<&Json>) -> Self {
        Self::made(Message::Request { id, method: method.into(), params: params.cloned() })
    }

    /// Makes a notification.
    pub fn notification(method: &str, params: Option<&Json>) -> Self {
        Self::made(Message::Notification { method: method.into(), params: params.cloned() })
    }

    /// Makes the answer to a request.
    pub fn response(id: &Id, answer: &Answer) -> Self {
        Self::made(Message::Response { id: Some(id.clone()), answer: answer.clone() })
    }
}

/// Returns the text of a message.
pub(crate) fn written(message: &Message) -> String {
    let behind = |params: &Option<Json>| {
        params.as_ref().map(|it| format!(r#","params":{}"#, it.as_str())).unwrap_or_default()
    };
    match message {
        Message::Notification { method, params } => {
            let (method, params) = (text(method), behind(params));
            format!(r#"{{"jsonrpc":"2.0","method":{}{params}}}"#, method.as_str())
        }
        Message::Request { id, method, params } => {
            let (method, params) = (text(method), behind(params));
            let (id, method) = (id.json().as_str(), method.as_str());
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#)
        }
        Message::Response { id, answer } => {
            let key = if matches!(answer, Answer::Error(_)) { "error" } else { "result" };
            let id = id.as_ref().map_or("null", |id| id.json().as_str());
            format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{}}}"#, answer.json().as_str())
        }
    }
}
