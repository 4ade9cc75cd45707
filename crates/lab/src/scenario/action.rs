//! What a server can do about a request, and to itself.

use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use super::values::{Fields, LostSession, Start};
use crate::Spoken;

/// One thing that is done. In a file: a word, or a table with the word as its only key.
///
/// In texts, `{{id}}` is the request's id, `{{answer}}` the whole right answer as JSON, `{{length}}`
/// how many bytes that has, `{{url}}` this server and `{{other}}` the other one. Where a stream is
/// resumed, request and answer are those of the stream on which the named event was sent; so calls
/// at the same time need event ids of their own, such as `{{id}}-1`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Sends the answer on the open stream.
    Answer(StreamAnswer),
    /// Sends these bytes, written in hexadecimal digits. Before any answer: on the bare connection.
    Bytes(String),
    /// Closes every connection with nothing under way.
    CloseIdle,
    /// Sends a comment on the open stream.
    Comment(String),
    /// Closes the connection (FIN) without the proper end of an answer.
    Cut,
    /// Dies, and is back after so many seconds with no memory of its sessions.
    Down(f64),
    /// Ends every `subscriptions/listen` with its result.
    EndSubscriptions,
    /// Speaks this era from here on: an upgrade, or a rollback.
    Era(Spoken),
    /// Sends an event on the open stream.
    Event(Event),
    /// Ends the stream properly. After bare bytes: leaves the connection open.
    Finish,
    /// Sends so many bytes of `x`, as they are, on the open stream.
    Flood(u64),
    /// Forgets every session.
    ForgetSessions,
    /// Sends nothing more, until the client hangs up.
    Hold,
    /// Refuses unknown sessions so from here on.
    LostSession(LostSession),
    /// Sends bytes in this manner from here on.
    Manner(Manner),
    /// Sends a JSON-RPC message on the open stream.
    Message(Message),
    /// Answers with the head of an event stream.
    Open,
    /// Treats new connections otherwise for a while.
    Outage(Outage),
    /// Answers right, in JSON of so many bytes: what is missing is padding in `_meta` of the result.
    Padded(usize),
    /// Sends the beginning of the right answer, head and all, on the bare connection.
    Partial(Partial),
    /// Answers as if there were no rule. What follows is done after that.
    Pass,
    /// Sends a JSON-RPC message on every standing stream.
    Push(Value),
    /// Sends this text as it is: on the open stream, or before any answer on the bare connection.
    Raw(String),
    /// Resets the connection.
    Reset,
    /// Resets every connection.
    ResetConnections,
    /// Tells how many milliseconds to wait before resuming, in these words.
    Retry(String),
    /// Runs the tool.
    Run,
    /// Writes this on every connection with nothing under way, and closes it.
    SayOnIdle(String),
    /// Answers with a status.
    Status(Status),
    /// Offers these tools from here on.
    Tools(Vec<Value>),
    /// Does nothing for so many seconds.
    Wait(f64),
}

impl Action {
    /// What is wrong with it.
    pub(super) fn nonsense(&self) -> Option<String> {
        match self {
            Self::Bytes(digits) => {
                let digits: Vec<_> = digits.chars().filter(|it| !it.is_whitespace()).collect();
                let is_hex = digits.iter().all(char::is_ascii_hexdigit) && digits.len() % 2 == 0;
                (!is_hex).then(|| "`bytes` are pairs of hexadecimal digits".to_owned())
            }
            Self::Down(lasts) | Self::Wait(lasts) => wrong_time(*lasts),
            Self::LostSession(lost) => wrong_status(lost.status),
            Self::Manner(manner) => {
                let is_none = manner.slice == 0;
                let wrong = is_none.then(|| "a `slice` has one byte at least".to_owned());
                wrong.or_else(|| wrong_time(manner.gap))
            }
            Self::Outage(outage) => wrong_time(outage.lasts),
            Self::Status(status) => {
                wrong_status(status.code).or_else(|| wrong_headers(&status.headers))
            }
            _ => None,
        }
    }
}

pub(super) fn wrong_status(code: u16) -> Option<String> {
    let is_status = (200..=999).contains(&code);
    (!is_status).then(|| format!("{code} is not the status of an answer"))
}

pub(super) fn wrong_time(seconds: f64) -> Option<String> {
    let is_time = (0.0..=MOST_SECONDS).contains(&seconds);
    (!is_time).then(|| format!("{seconds} s are not between 0 and {MOST_SECONDS} s"))
}

fn wrong_headers(headers: &Fields) -> Option<String> {
    let is_wrong = |(name, value): &(&String, &String)| {
        HeaderName::try_from(name.as_str()).is_err()
            || HeaderValue::try_from(value.as_str()).is_err()
    };
    headers
        .iter()
        .find(is_wrong)
        .map(|(name, _)| format!("`{name}` is no header, or its value is none"))
}

pub(super) const MOST_SECONDS: f64 = 3600.0;

/// An answer on a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamAnswer {
    /// The id of its event.
    pub id: Option<String>,
    /// The text of a tool's result, in place of the right one.
    pub text: Option<String>,
    /// A JSON-RPC error, in place of a result.
    pub error: Option<Value>,
    /// The request that it claims to answer, in place of the one that was asked.
    pub to: Option<Value>,
}

/// An event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Event {
    /// Its id.
    pub id: Option<String>,
    /// Its data; without it an empty line of data, which only moves the point of resumption.
    pub data: String,
}

/// A message of the server's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The id of its event.
    pub id: Option<String>,
    /// The message.
    pub json: Value,
}

/// How bytes are sent.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manner {
    /// So many at a time.
    pub slice: usize,
    /// With so many seconds between two of them.
    #[serde(default)]
    pub gap: f64,
}

/// A time in which those who connect are not served.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// What happens to them instead.
    pub mood: Start,
    /// For so many seconds.
    pub lasts: f64,
}

/// The beginning of an answer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partial {
    /// So many bytes of it; counted from the end of the head if `of` says so.
    pub bytes: usize,
    /// What is counted.
    #[serde(default)]
    pub of: PartialOf,
}

/// Where bytes are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartialOf {
    /// The end of the head.
    Body,
    /// The first byte.
    #[default]
    Head,
}

/// A whole answer of any status.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The status.
    pub code: u16,
    /// Its headers.
    #[serde(default)]
    pub headers: Fields,
    /// Its body.
    #[serde(default)]
    pub body: String,
    /// How the body is coded; a header says so.
    pub coding: Option<Coding>,
}

/// How a body is coded on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coding {
    /// As gzip has it.
    Gzip,
}
