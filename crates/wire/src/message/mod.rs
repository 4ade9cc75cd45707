//! JSON-RPC messages: id, method and kind are read, the rest is kept as the bytes it was.
//!
//! Params, results and errors stay raw, so that big integers, number spelling, key order, unknown fields and
//! duplicate keys pass through untouched. Nothing here knows about HTTP, sessions or recovery.

mod clear;
pub mod code;
mod elements;
mod envelope;
mod host_line;
mod json;
mod key;
mod list_kind;
mod log_level;
pub mod notification;
mod repeated;
pub mod reserved;
mod scan;
pub mod splice;
mod uri;
mod write;

pub use clear::Unclear;
pub use elements::{Elements, NotAnArray};
pub use envelope::{Incoming, NotJsonRpc};
pub use host_line::{HostMessage, MOST_LINE};
pub use json::member;
pub use json::{Json, NotJson};
pub use key::{ByKey, Key};
pub use list_kind::ListKind;
pub use log_level::LogLevel;
pub use uri::is_within;
pub use write::{
    Meta, Params, answer_body, notification_body, stateless_notification_body, with_caller_token,
};

use serde::Deserialize;

/// One JSON-RPC message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A notification, which has no answer.
    Notification {
        /// The JSON-RPC method.
        method: Box<str>,
        /// The params, as sent.
        params: Option<Json>,
    },
    /// A request that the client must answer.
    Request {
        /// The server's id, to be echoed.
        id: Id,
        /// The JSON-RPC method.
        method: Box<str>,
        /// The params, as sent.
        params: Option<Json>,
    },
    /// The answer to one of the client's requests.
    Response {
        /// The id of the request; servers leave it out of some refusals.
        id: Option<Id>,
        /// The answer.
        answer: Answer,
    },
}

/// The server's answer to a request; both kinds are final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A JSON-RPC error object. It is an answer, and not a failure of the call.
    Error(Json),
    /// A result.
    Result(Json),
}

impl Answer {
    /// Creates an error with this code and message.
    pub fn refusal(code: i64, message: &str) -> Self {
        #[derive(serde::Serialize)]
        struct Refusal<'a> {
            code: i64,
            message: &'a str,
        }

        let refusal = Refusal { code, message };
        Self::Error(Json::of(&refusal).expect("a number and a text are JSON"))
    }

    /// Returns the answer as it was sent.
    pub const fn json(&self) -> &Json {
        match self {
            Self::Error(json) | Self::Result(json) => json,
        }
    }

    /// Whether this is an error that reports what became of a call at another server, as a gateway does: its
    /// `data` has `server` and `mayHaveRun`.
    pub fn is_report(&self) -> bool {
        let Self::Error(json) = self else { return false };
        let data = json.member("data");
        data.is_some_and(|data| data.pick(["server", "mayHaveRun"]).iter().all(Option::is_some))
    }

    /// Whether this is an error of a server that says about the call that it names: it did not run.
    pub fn denies_a_run(&self) -> bool {
        let Self::Error(json) = self else { return false };
        let data = json.member("data");
        data.and_then(|data| data.read::<Ran>()).is_some_and(|ran| !ran.may_have_run)
    }

    /// Returns the code and message, if this is an error.
    pub fn error(&self) -> Option<RpcError> {
        match self {
            Self::Error(json) => Some(json.read().unwrap_or_else(|| RpcError::text(json))),
            Self::Result(_) => None,
        }
    }
}

/// What the data of an error says about the call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ran {
    may_have_run: bool,
}

/// The parts of a JSON-RPC error that recovery reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
}

impl RpcError {
    /// Reads an error that is no object.
    fn text(json: &Json) -> Self {
        let message = json.read().unwrap_or_else(|| json.as_str().to_owned());
        Self { code: 0, message }
    }
}

/// An id as it was written: a number or a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(Json);

impl Id {
    /// Takes an id as it was written.
    pub const fn new(raw: Json) -> Self {
        Self(raw)
    }

    /// Returns the id under which JSON is refused that is no message, if it names one.
    pub fn named_by(json: &Json) -> Option<Self> {
        let is_fit = |id: &Json| matches!(id.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9'));
        json.member("id").filter(is_fit).map(Self)
    }

    /// Returns the id as it was written.
    pub const fn json(&self) -> &Json {
        &self.0
    }

    /// Creates an id that is a number.
    pub fn of_number(number: u64) -> Self {
        Self(Json::trusted(number.to_string().into()))
    }

    /// Returns the number of one of our requests, if this id can mean one.
    ///
    /// Our ids are whole numbers, but servers echo them as `7`, `7.0` and `"7"`.
    pub fn number(&self) -> Option<u64> {
        let text = self.0.as_str().trim_matches('"');
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        fraction.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok())?
    }
}
