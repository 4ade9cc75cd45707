//! Messages that are made here, of JSON that is passed on as it is.

use ridethrough_wire::message::splice::text;
use ridethrough_wire::message::{Answer, Id, Json, Message};

use crate::parts::ParsedMessage;

impl ParsedMessage {
    /// Makes a request.
    pub fn request(id: Id, method: &str, params: Option<&Json>) -> Self {
        let written = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":{}{}}}"#,
            id.json().as_str(),
            text(method).as_str(),
            written_params(params)
        );
        let message = Message::Request { id, method: method.into(), params: params.cloned() };
        Self::made(message, written)
    }

    /// Makes a notification.
    pub fn notification(method: &str, params: Option<&Json>) -> Self {
        let written = format!(
            r#"{{"jsonrpc":"2.0","method":{}{}}}"#,
            text(method).as_str(),
            written_params(params)
        );
        Self::made(
            Message::Notification { method: method.into(), params: params.cloned() },
            written,
        )
    }

    /// Makes the answer to a request.
    pub fn response(id: &Id, answer: &Answer) -> Self {
        let key = match answer {
            Answer::Error(_) => "error",
            Answer::Result(_) => "result",
        };
        let (id_text, json) = (id.json().as_str(), answer.json().as_str());
        let written = format!(r#"{{"jsonrpc":"2.0","id":{id_text},"{key}":{json}}}"#);
        let message = Message::Response { id: Some(id.clone()), answer: answer.clone() };
        Self::made(message, written)
    }
}

fn written_params(params: Option<&Json>) -> String {
    params.map(|it| format!(r#","params":{}"#, it.as_str())).unwrap_or_default()
}
