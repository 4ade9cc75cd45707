//! JSON-RPC messages: who is meant, what is asked, and the rest as the bytes it was.
//!
//! The envelope reads id, method and kind. Params, results and errors stay raw, so big integers,
//! number spelling, key order, unknown fields and duplicate keys pass through untouched. Nothing
//! here knows about HTTP, sessions or recovery.

pub mod code;
mod elements;
mod envelope;
mod json;
pub mod notification;
mod scan;
mod write;

pub use elements::{Elements, NotAnArray};
pub use envelope::{Incoming, NotJsonRpc};
pub(crate) use json::member;
pub use json::{Json, NotJson};
pub(crate) use write::{
    Meta, Params, answer_body, notification_body, stateless_notification_body, with_caller_token,
};

use serde::Deserialize;

/// One JSON-RPC message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Something that happened; nobody waits for an answer.
    Notification {
        /// What happened.
        method: Box<str>,
        /// The details, as sent.
        params: Option<Json>,
    },
    /// A question that we must answer.
    Request {
        /// The server's id, to be echoed.
        id: Id,
        /// What is asked.
        method: Box<str>,
        /// The details, as sent.
        params: Option<Json>,
    },
    /// The end of one of our requests.
    Response {
        /// Which request; servers leave it out of some refusals.
        id: Option<Id>,
        /// How it ended.
        answer: Answer,
    },
}

/// How the server answered: both are final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A JSON-RPC error object. It is an answer like any other, not a failure of ours.
    Error(Json),
    /// A result.
    Result(Json),
}

impl Answer {
    /// An error with this code and these words.
    pub fn refusal(code: i64, message: &str) -> Self {
        #[derive(serde::Serialize)]
        struct Refusal<'a> {
            code: i64,
            message: &'a str,
        }

        let refusal = Refusal { code, message };
        Self::Error(Json::of(&refusal).expect("a number and a text are JSON"))
    }

    /// The answer as it was sent.
    pub const fn json(&self) -> &Json {
        match self {
            Self::Error(json) | Self::Result(json) => json,
        }
    }

    /// Code and message, if this is an error that has them.
    pub fn error(&self) -> Option<RpcError> {
        match self {
            Self::Error(json) => Some(json.read().unwrap_or_else(|| RpcError::text(json))),
            Self::Result(_) => None,
        }
    }
}

/// The parts of a JSON-RPC error that recovery reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The words.
    pub message: String,
}

impl RpcError {
    /// What can be said of an error that is no object.
    fn text(json: &Json) -> Self {
        let message = json.read().unwrap_or_else(|| json.as_str().to_owned());
        Self { code: 0, message }
    }
}

/// An id as it was written: a number or a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(Json);

impl Id {
    pub(crate) const fn new(raw: Json) -> Self {
        Self(raw)
    }

    /// The id as it was written.
    pub const fn json(&self) -> &Json {
        &self.0
    }

    /// The number of one of our requests, if this id can mean one.
    ///
    /// Our ids are whole numbers, but servers echo them as `7`, `7.0` and `"7"`.
    pub fn number(&self) -> Option<u64> {
        let text = self.0.as_str().trim_matches('"');
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        fraction.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok())?
    }
}
